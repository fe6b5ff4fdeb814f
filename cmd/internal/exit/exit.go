// Package exit has the exit statuses of agentform, and errors that choose one.
package exit

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/state"
)

// Code is an exit status. As an error it ends a command that has printed everything.
type Code int

// The statuses, as documented in docs/commands.md.
const (
	Done        Code = 0
	Error       Code = 1
	Changes     Code = 2
	Unformatted Code = 3
	Locked      Code = 4
	Asks        Code = 5
	Interrupted Code = 130 // 128 + SIGINT, as in shells
)

func (c Code) Error() string { return fmt.Sprintf("exit %d", int(c)) }

// Usage returns the error for an invalid command line. command is "agentform plan".
func Usage(command string, err error) error {
	return fmt.Errorf("%w\nSee: %s --help", err, command)
}

// Coded is an error with its own exit status.
type Coded interface{ ExitCode() Code }

// Of returns the exit status for an error.
func Of(err error) Code {
	var locked *state.LockedError
	var shared *sharedstate.LockedError
	var coded Coded
	switch {
	case errors.Is(err, apply.ErrInterrupted), errors.Is(err, context.Canceled):
		return Interrupted
	case errors.As(err, &locked), errors.As(err, &shared):
		return Locked
	case errors.As(err, &coded):
		return coded.ExitCode()
	}
	return Error
}
