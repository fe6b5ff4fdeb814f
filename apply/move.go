package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// move puts every session that has moved on record under its new address, before
// anything else: one whose new address is another's old one after that other.
// What cannot be moved is not carried out, nor what waits for it.
func (r *run) move() {
	at := make(map[session.Address]*job, len(r.jobs))
	for _, j := range r.jobs {
		at[j.change.Address] = j
	}
	waiting := map[session.Address]*plan.Change{} // by the address on record
	for i := range r.plan.Changes {
		if c := &r.plan.Changes[i]; c.Moved != "" && c.Before != nil {
			waiting[c.Moved] = c
		}
	}
	for again := true; again; {
		again = false
		for from, c := range waiting {
			if waiting[c.Address] != nil {
				continue // still on record there
			}
			delete(waiting, from)
			again = true
			r.moveOne(c, at[c.Address])
		}
	}
	for _, c := range waiting {
		r.unmoved(c, at[c.Address], errors.New("sessions cannot change places in one step: move one of them elsewhere first"))
	}
}

// unmoved tells that a session could not be moved.
func (r *run) unmoved(c *plan.Change, j *job, err error) {
	err = fmt.Errorf("move %s to %s: %w", c.Moved, c.Address, err)
	if j == nil {
		r.warn(c.Address, "the session could not be moved", err.Error())
		return
	}
	j.outcome, j.err = Failed, err
	r.emit(j.event(history.Event{Kind: history.ApplyErrored, Detail: err.Error()}), nil)
	r.skipAfter(j)
}

// moveOne moves one record. j carries the session's change out; nil: nothing is
// to be done with it besides.
func (r *run) moveOne(c *plan.Change, j *job) {
	rec := *c.Before
	rec.Spec.Address, rec.UpdatedAt = c.Address, r.now()
	if err := r.Store.Move(c.Moved, rec); err != nil {
		r.unmoved(c, j, err)
		return
	}
	e := history.Event{Kind: history.Moved, Address: c.Address, ID: rec.ID, Run: rec.Run.ID,
		Old: string(c.Moved), New: string(c.Address)}
	r.emit(e, &rec)
	if j != nil {
		j.rec = rec
	}
}

// takeOver makes ours what somebody else started, as it runs. It is marked first
// and recorded then: one that is marked and not on record is found by its mark.
func (j *job) takeOver(ctx context.Context) error {
	rt, err := j.run.runtime(j.rec.Spec)
	if err != nil {
		return err
	}
	adopter, can := rt.(session.Adopter)
	if !can {
		return errors.New("its runtime cannot take over what somebody else started")
	}
	if err := j.keepPrompt(j.rec.Spec); err != nil {
		return err
	}
	id, s := j.run.newID(16), j.rec.Spec
	j.rec.Place, err = adopter.Adopt(ctx, j.change.Import, session.Mark{Project: j.run.plan.Lineage,
		Address: j.rec.Address, ID: j.rec.ID, Run: id, Hash: s.Hash()})
	if err != nil {
		return err
	}
	l, facts := j.change.Live, j.run.Facts(id)
	j.rec.Run = session.Run{ID: id, Number: 1, StartedAt: l.Started, BootID: facts.BootID, Agent: facts.Agent, PromptSHA: s.Prompt.Digest}
	if s.Prompt.Digest != "" {
		j.rec.Run.DeliveredAt = l.Started // whoever started it told it what to do
	}
	j.rec.Tree = session.WorkspaceState{Path: s.Workspace.Path, Mode: s.Workspace.Mode, Repo: s.Workspace.Repo, Branch: s.Branch, Ready: true}
	if !l.Started.IsZero() {
		j.rec.CreatedAt = l.Started
	}
	return j.settle()
}

// standing is what has the name that a launch wants.
func (r *run) standing(ctx context.Context, l session.Launch) (session.Live, bool) {
	lives, err := r.look(ctx, l.Spec, false)
	if err != nil {
		return session.Live{}, false
	}
	for _, x := range lives {
		if x.Place.Name == l.Name {
			return x, true
		}
	}
	return session.Live{}, false
}
