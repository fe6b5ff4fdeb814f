package apply

import (
	"errors"
	"fmt"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// A session ends also on a disk that accepts no writes: an agent that fills the disk has
// to be stopped first of all. What could not be recorded is deferred, and reported.

// intend records what is about to happen to a session. That it cannot be written down is
// no reason not to end one; what is to be started again stays as it is.
func intend(j *job, i session.Intent) error {
	j.rec.Intent = i
	err := j.save()
	if state.Unwritable(err) && (j.change.Action == plan.Stop || j.change.Action == plan.Delete) {
		return nil
	}
	return err
}

// settleEnded is settle of a session that was ended.
func settleEnded(j *job) error {
	err := j.settle()
	if !state.Unwritable(err) {
		return err
	}
	return deferred(j, err, j.run.Store.Defer(j.rec))
}

// forgetEnded is forget of a session that was ended.
func forgetEnded(j *job) error {
	err := j.forget()
	if !state.Unwritable(err) || j.change.Action == plan.Replace {
		return err
	}
	if err = deferred(j, err, j.run.Store.DeferDelete(j.rec.Address)); err == nil {
		j.kept = false
	}
	return err
}

// deferred reports that the end of a session is not recorded, because of why: as a
// warning where it was deferred, and else as an error.
func deferred(j *job, why, failed error) error {
	if failed != nil {
		return errors.Join(fmt.Errorf("the agent has ended, but this could not be recorded: %w", why), failed,
			errors.New("make room and repeat the command: until then the session counts as running, and the next apply starts it again"))
	}
	j.run.warn(j.change.Address, "the agent has ended, but this could not be recorded",
		why.Error()+"\nthe next command that changes a session and can write records it")
	return nil
}
