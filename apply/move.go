package apply

import (
	"errors"
	"fmt"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// move records sessions at their new addresses, before anything else. What cannot be moved
// is not carried out, nor what waits for it.
func (r *run) move() {
	at := make(map[session.Address]*job, len(r.jobs))
	for _, j := range r.jobs {
		at[j.change.Address] = j
	}
	waiting := map[session.Address]*plan.Change{} // by the recorded address
	for i := range r.plan.Changes {
		if c := &r.plan.Changes[i]; c.Moved != "" && c.Before != nil {
			waiting[c.Moved] = c
		}
	}
	for again := true; again; {
		again = false
		for from, c := range waiting {
			if waiting[c.Address] != nil {
				continue // another session is still recorded there
			}
			delete(waiting, from)
			again = true
			if err := r.moveOne(c, at[c.Address]); err != nil {
				r.failMove(c, at[c.Address], err)
			}
		}
	}
	for _, c := range waiting {
		r.failMove(c, at[c.Address], errors.New("sessions cannot swap addresses in one step: move one of them to another address first"))
	}
}

func (r *run) failMove(c *plan.Change, j *job, err error) {
	err = fmt.Errorf("move %s to %s: %w", c.Moved, c.Address, err)
	if j == nil {
		r.journal.warn(c.Address, "the session could not be moved", err.Error())
		return
	}
	j.outcome, j.err = Failed, err
	r.journal.emit(nil, j.entry.event(history.Event{Kind: history.ApplyErrored, Detail: err.Error()}))
	j.skipDependents()
}

// moveOne moves one record. j carries out the session's change; nil: there is none.
func (r *run) moveOne(c *plan.Change, j *job) error {
	rec := *c.Before
	rec.Spec.Address, rec.UpdatedAt = c.Address, r.journal.now()
	if err := r.config.Store.Move(c.Moved, rec); err != nil {
		return err
	}
	r.journal.emit(&rec, history.Event{Kind: history.Moved, Address: c.Address, ID: rec.ID, Run: rec.Run.ID,
		Old: string(c.Moved), New: string(c.Address)})
	if j != nil {
		j.entry.rec = rec
	}
	return nil
}
