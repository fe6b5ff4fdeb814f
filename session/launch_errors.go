package session

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// LaunchError is an agent that could not be started.
type LaunchError struct {
	Name   string // of the session
	Agent  string
	Screen string // what it showed, at most TailLimit bytes; empty: it came not so far
	Exit   *Exit  // how it ended, when it did
	Err    error
}

// Error is what was attempted, why it failed, and the end of the screen.
func (e *LaunchError) Error() string {
	if errors.Is(e.Err, ErrExists) {
		return fmt.Sprintf("session %q already exists; use Find or Stop", e.Name)
	}
	s := fmt.Sprintf("launch session %q (%s): %v", e.Name, e.Agent, e.Err)
	if e.Screen != "" {
		s += "\n" + end(e.Screen, 10)
	}
	return s
}

// Unwrap is the reason: ErrExists, a *tmux.Error, an agent's end.
func (e *LaunchError) Unwrap() error { return e.Err }

// ReadyTimeoutError is an agent that could not be typed to in time: it waits for
// a dialog, or takes longer than it was given.
type ReadyTimeoutError struct {
	Name   string // of the session
	Agent  string
	After  time.Duration
	Screen string // what it showed last, at most TailLimit bytes
}

// Error is how long it was waited, and the end of the screen.
func (e *ReadyTimeoutError) Error() string {
	s := fmt.Sprintf("launch session %q (%s): it was not ready after %v", e.Name, e.Agent, e.After)
	if e.Screen != "" {
		s += "; it shows\n" + end(e.Screen, 10)
	}
	return s
}

// end is the last lines of a text.
func end(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
