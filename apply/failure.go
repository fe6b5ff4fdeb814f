package apply

import (
	"fmt"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// failure is the error of a job that failed.
type failure struct {
	action  plan.Action
	address session.Address
	err     error
}

// Error names the action and the session, and has all that is known of why.
func (f *failure) Error() string { return fmt.Sprintf("%s %s: %v", f.action, f.address, f.err) }

// Reported is the failure in one line, for those who have read the event that has it in
// full.
func (f *failure) Reported() string {
	return fmt.Sprintf("%s %s: %s", f.action, f.address, inShort(f.err))
}

// Unwrap returns why.
func (f *failure) Unwrap() error { return f.err }

// cause returns, of the error of a start that failed, the part that says all there is to
// say, such as what git printed: without the operations that it was wrapped in on its way.
func cause(err error) error {
	for e := err; e != nil; e = wrapped(e) {
		if _, complete := e.(interface{ Short() string }); complete {
			return e
		}
	}
	return err
}

// wrapped returns the only error that an error wraps; nil: none, or several.
func wrapped(err error) error {
	switch e := err.(type) { //nolint:errorlint // one level
	case interface{ Unwrap() error }:
		return e.Unwrap()
	case interface{ Unwrap() []error }:
		if parts := e.Unwrap(); len(parts) == 1 {
			return parts[0]
		}
	}
	return nil
}

// begins reports whether an action starts a session's run.
func begins(a plan.Action) bool {
	return a == plan.Create || a == plan.Replace || a == plan.Restart || a == plan.Adopt
}
