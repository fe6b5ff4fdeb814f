package agentform

import (
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/session"
)

// DialogError says that nothing was typed because the agent shows a question. Answer it
// with a key (Session.SendInput with Input.Key).
type DialogError = input.DialogError

// NotTakenError says that a text was typed and that nothing shows whether the agent took
// it. Its Draft says that the text is still in the composer.
type NotTakenError = input.NotTakenError

// ErrOver says that an awaited event cannot happen because the session has ended.
var ErrOver = errors.New("does nothing more by itself")

// LaunchError says that an agent could not be started.
type LaunchError struct {
	Name   string // of the session
	Agent  string
	Screen string        // what it showed, at most session.TailLimit bytes; empty: nothing
	Exit   *session.Exit // how it exited; nil: it did not
	Err    error
}

// Error returns the reason and the end of the screen.
func (e *LaunchError) Error() string {
	if errors.Is(e.Err, session.ErrExists) {
		return fmt.Sprintf("session %q already exists; use Find or Stop", e.Name)
	}
	s := fmt.Sprintf("launch session %q (%s): %v", e.Name, e.Agent, e.Err)
	if e.Screen != "" {
		s += "\n" + launch.Tail(e.Screen, 10)
	}
	return s
}

// Unwrap returns the reason: session.ErrExists, a *tmux.Error, the agent's exit.
func (e *LaunchError) Unwrap() error { return e.Err }

// ReadyTimeoutError says that an agent was not ready in time: it shows a dialog, or is
// slower than its ReadyTimeout.
type ReadyTimeoutError struct {
	Name   string // of the session
	Agent  string
	After  time.Duration
	Screen string // the last screen, at most session.TailLimit bytes
}

// Error returns the timeout and the end of the screen.
func (e *ReadyTimeoutError) Error() string {
	s := fmt.Sprintf("launch session %q (%s): it was not ready after %v", e.Name, e.Agent, e.After)
	if e.Screen != "" {
		s += "; it shows\n" + launch.Tail(e.Screen, 10)
	}
	return s
}

// launchError returns the reason of a failed launch as one of the exported types.
func launchError(name, agent string, err error) error {
	var late *launch.NotReadyError
	var failed *launch.FailedStartError
	switch {
	case errors.As(err, &late) && late.Exit == nil:
		return &ReadyTimeoutError{Name: name, Agent: agent, After: late.After, Screen: late.Excerpt()}
	case errors.As(err, &late):
		return &LaunchError{Name: name, Agent: agent, Screen: late.Excerpt(), Exit: late.Exit, Err: errors.New(late.Why)}
	case errors.As(err, &failed):
		return &LaunchError{Name: name, Agent: agent, Exit: &failed.Exit, Err: err}
	}
	return &LaunchError{Name: name, Agent: agent, Err: err}
}
