package apply

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// queues reports whether the change is an approved start that waits.
func queues(c plan.Change) bool { return c.Approved && c.Queues() }

// queue records that the start of the session was approved, so that whoever can
// start it later starts exactly that. It touches nothing else.
func (j *job) queue() {
	if j.change.Queued() {
		j.outcome, j.detail = Held, j.change.Detail
		return
	}
	if err := j.enqueue(); err != nil {
		j.outcome, j.err = Failed, fmt.Errorf("hold %s: %w", j.change.Address, err)
		j.tell(history.Event{Kind: history.ApplyErrored, Detail: j.err.Error()})
		return
	}
	j.outcome, j.detail = Held, j.change.Detail
	j.tell(history.Event{Kind: history.Held, Reason: string(j.change.Reason), Detail: j.detail})
}

func (j *job) enqueue() error {
	if j.change.Before == nil {
		j.rec = j.fresh()
	}
	if j.change.Holds == plan.Create { // nothing of an earlier attempt is left
		j.rec.Run, j.rec.Place = session.Run{Number: j.rec.Run.Number}, session.Place{}
	}
	if err := j.keepPrompt(*j.change.After); err != nil {
		return err
	}
	in, err := j.run.inherited(*j.change.After)
	if err != nil {
		return err
	}
	j.rec.Spec, j.rec.Inherits = *j.change.After, slices.Sorted(maps.Keys(in.Secrets))
	j.rec.Intent, j.rec.Trouble = session.Queued, ""
	if o := j.rec.Override; o != nil && (j.lifts != nil || o.Desired == j.rec.Spec.Desired) {
		j.rec.Override = nil
	}
	return j.save()
}
