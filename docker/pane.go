package docker

import (
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// pane is the agent's pane: each run has a tmux server of its own, and this is the
// first one that is made on it.
const pane = "%0"

// show adds to a session what tmux tells of its pane.
func show(l *session.Live, p tmuxwire.Pane, watching bool) {
	l.InputOff = p.InputOff
	l.Size, l.MovedAt, l.Title = p.Size, p.ActiveAt, p.Title
	if l.Attached = p.Attached; watching {
		l.Attached = max(0, p.Attached-1)
	}
}
