package contained

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Pane is the agent's pane in places with an init: each run has a tmux server of its own, and
// this is the server's first pane.
const Pane = "%0"

// Place is the container or the pod of a session.
type Place struct {
	Inside
	Kind string // container, pod
	Pane string // the agent's
	// Freeze freezes a place whose agent has no shim; nil: the shim freezes the agent.
	Freeze func(context.Context) error
	// Unpause resumes a place that its engine has paused as a whole; nil: it is not paused.
	Unpause func(context.Context) error
}

// Inside gives access to the inside of a place.
type Inside interface {
	// Recorded returns the last run of the session, and the mode in which the session is paused.
	Recorded() (run, paused string, err error)
	// SetPaused records the mode in which the session is paused; empty: it is not.
	SetPaused(ctx context.Context, mode string) error
	// Look returns the status of the last run, without the screen.
	Look(ctx context.Context) (shim.ContainerRun, error)
	// Tmux runs a tmux command.
	Tmux(ctx context.Context, stdin string, args ...string) (shim.TmuxReply, error)
	// AskShim calls do with a client of the shim of a run.
	AskShim(ctx context.Context, run string, do func(*shim.Client, context.Context) error) error
}

// tmux runs tmux commands. The error is session.ErrGone if the session or its server does not
// exist.
func (at Place) tmux(ctx context.Context, stdin string, cmds ...tmuxwire.Command) (string, error) {
	r, err := at.Tmux(ctx, stdin, tmuxwire.Args(cmds...)...)
	if err != nil || r.Code == 0 {
		return r.Stdout, err
	}
	if reason := tmuxwire.Reason(r.Stderr); errors.Is(reason, tmuxwire.ErrNoSession) || errors.Is(reason, tmuxwire.ErrNoServer) {
		return "", fmt.Errorf("tmux in the %s: %.200s: the session %w", at.Kind, r.Stderr, session.ErrGone)
	}
	return "", fmt.Errorf("tmux %s in the %s: %.200s", cmds[0][0], at.Kind, r.Stderr)
}

// Sessions acts on the sessions of a runtime.
type Sessions struct {
	// Running returns the place of a session. The error is session.ErrGone if it does not run.
	Running func(context.Context, session.Location) (Place, error)
	turns   input.Turns
}

// holding returns the place of a session, which must hold the run, and the mode in which the
// session is paused.
func (s *Sessions) holding(ctx context.Context, p session.Location, run string) (at Place, paused string, err error) {
	if at, err = s.Running(ctx, p); err != nil {
		return at, "", err
	}
	last, paused, err := at.Recorded()
	if err == nil && last != run {
		err = fmt.Errorf("it has run %s, not %s", last, run)
	}
	return at, paused, err
}

// Annotate adds to an error what was attempted on which session.
func Annotate(err *error, what, name string) {
	if *err != nil {
		*err = fmt.Errorf("%s session %q: %w", what, name, *err)
	}
}

// cleanupTimeout bounds work that must be completed even if the caller's context has ended.
const cleanupTimeout = 60 * time.Second

// Detached returns a context for such work.
func Detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}
