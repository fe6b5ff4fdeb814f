package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/state"
)

// The exit codes, as documented in Run.
const (
	exitDone        = 0
	exitError       = 1
	exitChanges     = 2
	exitUnformatted = 3
	exitLocked      = 4
	exitInterrupted = 130 // 128 + SIGINT, as shells say it
)

// outcome is an end with an exit code about which everything has been said.
type outcome int

func (o outcome) Error() string { return fmt.Sprintf("exit %d", int(o)) }

// usageError is a command line that makes no sense.
type usageError struct {
	command string // "agentform plan"
	err     error
}

func (e usageError) Error() string {
	return fmt.Sprintf("%v\nSee: %s --help", e.err, e.command)
}

func (e usageError) Unwrap() error { return e.err }

// report tells an error, unless all has been said, and turns it into an exit
// code.
func report(a *app, err error) int {
	var said outcome
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &said):
		return int(said)
	}
	if view.Errors(a.env.Stderr, a.err(), err) != nil {
		return exitError // standard error itself cannot be written
	}
	return codeOf(err)
}

// codeOf is the exit code that an error stands for.
func codeOf(err error) int {
	var locked *state.LockedError
	switch {
	case errors.As(err, &locked):
		return exitLocked
	case errors.Is(err, apply.ErrInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitError
}
