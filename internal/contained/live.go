package contained

import (
	"errors"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Show adds the init's view of the pane and the agent to a session whose liveness is known. paused
// is the mode in which the session is paused. A dead agent is not paused.
func Show(l *session.Live, in shim.ContainerRun, paused string, screen bool) {
	if p, err := tmuxwire.ParsePane(in.Row); err == nil {
		ShowPane(l, p, in.Watching)
		if screen {
			l.Show(tmuxwire.Trim(in.Screen))
		}
	}
	l.WorkspaceStamp = in.Workspace
	dead := l.Liveness == session.Dead
	l.InputOff = (l.InputOff || paused != "") && !dead
	l.Frozen = paused == session.Freeze && !dead
	if in.Frozen && l.Liveness == session.Alive && !l.Frozen {
		l.Frozen, l.Suspended = true, true
	}
}

// ShowPane adds to a session what tmux reports of its pane. watching says that one of the
// clients is the init.
func ShowPane(l *session.Live, p tmuxwire.Pane, watching bool) {
	l.InputOff = p.InputOff
	l.Size, l.MovedAt, l.Title = p.Size, p.ActiveAt, p.Title
	if l.Attached = p.Attached; watching {
		l.Attached = max(0, p.Attached-1)
	}
}

// Vacant returns an error unless the run has ended, according to its init.
func Vacant(in shim.ContainerRun) error {
	switch {
	case in.Agent:
		return errors.New("its agent is running")
	case in.Shim && in.Exit == nil:
		return errors.New("leftover processes of its agent are being stopped")
	}
	return nil
}
