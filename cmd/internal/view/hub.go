package view

import (
	"fmt"
	"io"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/state"
)

// Hub writes whether a hub runs in the project: h, if any does. ran means that one has run before.
func Hub(w io.Writer, is api.Supervisor, h state.Holder, ran bool) error {
	p := &page{}
	switch {
	case is == api.HubSuspended:
		p.line(fmt.Sprintf("hub: suspended (pid %d)\n  %s\n", h.PID, hub.Continue(h)))
	case is == api.HubRuns:
		p.line(fmt.Sprintf("hub: running (pid %d)\n", h.PID))
	case is == api.HubDown && ran:
		p.line("hub: not running (start it: agentform serve --detach)\n")
	}
	return p.flush(w)
}
