package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// ChangedError says that something which was approved is not what would be done
// now. Nothing was done.
type ChangedError struct {
	Changes []string // one sentence for each session
}

// Error names each of them.
func (e *ChangedError) Error() string {
	return strings.Join(e.Changes, "\n") + "\nnothing was done; plan again"
}

// Apply carries out what was approved: under the lock it looks and computes
// again. If an approved change is not the same any more, nothing is done and the
// error is a *ChangedError. What has to be done besides and was not approved is
// left, and told in the tally's warnings.
//
// The error is a *state.LockedError when somebody else is at work, else what
// apply.Applier.Run and Await return.
func (r *Reconciler) Apply(ctx context.Context, q Request, approved plan.Plan, drain <-chan struct{}) (apply.Tally, error) {
	tally, err := r.locked(ctx, func(store *state.Store, a apply.Applier) (apply.Tally, error) {
		st := store.State()
		w := r.clear(ctx, st, q)
		p := r.decide(ctx, st, w, q, false)
		if approved.Lineage != "" && approved.Lineage != p.Lineage {
			return apply.Tally{}, fmt.Errorf("the plan was made for another state (lineage %s, this one is %s): plan again", approved.Lineage, p.Lineage)
		}
		if approved.Complete && !p.Complete {
			return apply.Tally{}, unlooked(p)
		}
		warnings, err := hold(&p, approved)
		if err != nil {
			return apply.Tally{}, err
		}
		mismatches(a, p, w)
		tally, err := a.Run(ctx, p, drain)
		tally.Warnings = append(tally.Warnings, warnings...)
		return tally, err
	})
	if q.Wait && ctx.Err() == nil && !errors.Is(err, apply.ErrInterrupted) {
		err = errors.Join(err, r.await(ctx, tally))
	}
	return tally, err
}

// unlooked says why a plan could not be made again as it was approved.
func unlooked(p plan.Plan) error {
	var errs []error
	for _, d := range p.Problems {
		if d.Severity == session.Error && d.Address == "" {
			errs = append(errs, d)
		}
	}
	return errors.Join(append(errs, errors.New("nothing was done"))...)
}

// mismatches tells of each session whose workspace is on another branch, once, and adds
// it to the history where that lacks it: a hub may have been faster.
func mismatches(a apply.Applier, p plan.Plan, w session.World) {
	before := make(map[session.Address]*session.Record, len(p.Changes))
	for _, c := range p.Changes {
		before[c.Address] = c.Before
	}
	told := map[session.Address]bool{}
	for _, d := range p.Problems {
		if d.Code != string(plan.ReasonBranchMismatch) || told[d.Address] {
			continue
		}
		told[d.Address] = true
		rec := before[d.Address]
		if rec == nil { // it has no history yet
			a.Tell(history.Event{Kind: history.BranchMismatch, Address: d.Address, Detail: d.Detail}, session.Record{})
			continue
		}
		a.TellNew(*rec, func(past []history.Event) []history.Event {
			return activity.Astray(*rec, w.Checkouts[rec.Tree.Path].Branch, d.Detail, past)
		})
	}
}

// locked acts on the state under its lock.
func (r *Reconciler) locked(ctx context.Context, act func(*state.Store, apply.Applier) (apply.Tally, error)) (tally apply.Tally, err error) {
	if err := r.check(state.State{}); err != nil { // before anything is written
		return apply.Tally{}, err
	}
	if err := layout.MakeDataDir(r.Applier.DataDir); err != nil {
		return apply.Tally{}, err
	}
	store, err := state.Open(ctx, r.StatePath, r.Project, r.Version, r.Who, r.LockWait, r.Applier.OutputsDir)
	if err != nil {
		return apply.Tally{}, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := r.check(store.State()); err != nil {
		return apply.Tally{}, err
	}
	store.OwnedBy(r.Here)
	a := r.Applier
	a.Store, a.Runtime = store, r.runtimes(store.State().Lineage)
	if a.OutputsDir != "" {
		store.MirrorTo(a.OutputsDir)
	}
	tally, err = act(store, a)
	tally.Warnings = append(tally.Warnings, r.forget(store.State(), a)...)
	if unwritten := store.MirrorErr(); unwritten != nil {
		tally.Warnings = append(tally.Warnings, session.Diagnostic{Severity: session.Warning,
			Summary: "a session's folder cannot be written", Detail: unwritten.Error() + "\nwhat happens is on record all the same"})
	}
	return tally, err
}

// forget takes what is older than is to be kept out of the histories.
func (r *Reconciler) forget(st state.State, a apply.Applier) []session.Diagnostic {
	if r.Keep <= 0 {
		return nil
	}
	before := r.Observer.Now().Add(-r.Keep)
	for _, rec := range st.Sessions {
		if _, err := history.Trim(a.Folder(rec), before); err != nil {
			return []session.Diagnostic{{Severity: session.Warning, Address: rec.Address, Summary: "the history is kept longer than wanted", Detail: err.Error()}}
		}
	}
	return nil
}

// await waits, without the lock, until what was started is ready.
func (r *Reconciler) await(ctx context.Context, t apply.Tally) error {
	st, err := r.read()
	if err != nil {
		return err
	}
	a := r.Applier
	a.Runtime = r.runtimes(st.Lineage)
	return a.Await(ctx, t)
}

// hold holds a plan made now against the one that was approved. What was not
// approved is taken out of it.
func hold(p *plan.Plan, approved plan.Plan) (left []session.Diagnostic, err error) {
	now := make(map[session.Address]*plan.Change, len(p.Changes))
	for i := range p.Changes {
		now[p.Changes[i].Address] = &p.Changes[i]
	}
	agreed := map[session.Address]bool{}
	var changed []string
	for _, was := range approved.Changes {
		is := now[was.Address]
		if waits(was) && is != nil && wants(is, was) {
			is.Approved, agreed[was.Address] = true, true
			continue
		}
		if !was.Action.Acts() {
			continue
		}
		agreed[was.Address] = true
		if is == nil || !is.Matches(was) {
			changed = append(changed, difference(was, is))
		}
	}
	if len(changed) > 0 {
		return nil, &ChangedError{changed}
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Action.Acts() && !agreed[c.Address] {
			left = append(left, session.Diagnostic{Severity: session.Warning, Address: c.Address,
				Summary: "not approved, and left as it is",
				Detail:  fmt.Sprintf("since the plan was made, %s has to be done too (%s): plan again", words(*c), c.Detail)})
			c.Action, c.Then = plan.None, ""
		}
	}
	return left, nil
}

// waits reports whether a change is a start that was held back.
func waits(c plan.Change) bool {
	switch c.Reason {
	case plan.ReasonQueued, plan.ReasonDependency, plan.ReasonDependencyFailed:
		return c.Action == plan.Hold
	}
	return false
}

// wants reports whether a change brings a session to what was approved: what is
// held may wait on, or start now.
func wants(is *plan.Change, was plan.Change) bool {
	if is.After == nil || was.After == nil || !waits(*is) && is.Action != was.Holds {
		return false
	}
	now, err := json.Marshal(is.After)
	if err != nil {
		return false
	}
	then, err := json.Marshal(was.After)
	return err == nil && bytes.Equal(now, then)
}

// difference says how a change is not what it was.
func difference(was plan.Change, is *plan.Change) string {
	if is == nil {
		return fmt.Sprintf("%s has changed since the plan was made: it was %s, and there is no such session any more", was.Address, words(was))
	}
	then, now := words(was), words(*is)
	if then == now {
		return fmt.Sprintf("%s has changed since the plan was made: it is still %s, but not for the same difference or on the same run (%s)", was.Address, now, is.Detail)
	}
	return fmt.Sprintf("%s has changed since the plan was made: it was %s, and is now %s", was.Address, then, strings.TrimSuffix(now+": "+is.Detail, ": "))
}

// words is a change as a plan shows it: ↻ restart.
func words(c plan.Change) string {
	if c.Action == plan.None {
		return "nothing to do"
	}
	return c.Action.Symbol() + " " + string(c.Action)
}
