package view

import (
	"fmt"
	"io"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/state"
)

// Hub writes whether a hub runs in the project: h, if any does, which leaves foreign sessions alone. ran
// means that one has run before.
func Hub(w io.Writer, is api.Supervisor, h state.Holder, ran bool, foreign int) error {
	p := &page{}
	others := ""
	if foreign > 0 {
		others = fmt.Sprintf("; it leaves %s of other machines, users or data directories alone", plaintext.Count(foreign, "session"))
	}
	switch {
	case is == api.HubSuspended:
		p.line(fmt.Sprintf("hub: suspended (pid %d)\n  %s\n", h.PID, hub.Continue(h)))
	case is == api.HubRuns:
		p.line(fmt.Sprintf("hub: running (pid %d)%s\n", h.PID, others))
	case is == api.HubDown && ran:
		p.line("hub: not running (start it: agentform serve --detach)\n")
	}
	return p.flush(w)
}
