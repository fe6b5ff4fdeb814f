package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// ChangedError reports that an approved change is not what would be done now. Nothing
// was done.
type ChangedError struct {
	Changes []string // one sentence for each session
}

// Error returns the sentences, one a line.
func (e *ChangedError) Error() string {
	return strings.Join(e.Changes, "\n") + "\nnothing was done; plan again"
}

// Apply applies an approved plan. It observes and plans again under the lock. If an
// approved change has become another, nothing is done and the error is a
// *ChangedError. What was not approved is left as it is, with a warning in the tally.
//
// The error is a *state.LockedError if another process has the lock, else that of
// apply.Applier.Run or Await.
func (e *Engine) Apply(ctx context.Context, q Request, approved plan.Plan, drain <-chan struct{}) (apply.Tally, error) {
	tally, err := e.locked(ctx, func(store *state.Store, a apply.Applier) (apply.Tally, error) {
		st := store.State()
		w := e.resolve(ctx, st, q)
		p := e.decide(ctx, st, w, q, false)
		if approved.Lineage != "" && approved.Lineage != p.Lineage {
			return apply.Tally{}, fmt.Errorf("the plan was made for another state (lineage %s, this one is %s): plan again", approved.Lineage, p.Lineage)
		}
		if approved.Complete && !p.Complete {
			return apply.Tally{}, notObserved(p)
		}
		warnings, err := keepApproved(&p, approved)
		if err != nil {
			return apply.Tally{}, err
		}
		reportMismatches(a, p, w)
		tally, err := a.Run(ctx, p, drain)
		tally.Warnings = append(tally.Warnings, warnings...)
		return tally, err
	})
	if q.Wait && ctx.Err() == nil && !errors.Is(err, apply.ErrInterrupted) {
		err = errors.Join(err, e.await(ctx, tally))
	}
	return tally, err
}

// notObserved returns why a plan could not be computed again as it was approved.
func notObserved(p plan.Plan) error {
	var errs []error
	for _, d := range p.Problems {
		if d.Severity == session.Error && d.Address == "" {
			errs = append(errs, d)
		}
	}
	return errors.Join(append(errs, errors.New("nothing was done"))...)
}

// reportMismatches reports each session whose workspace is on another branch, once, and
// adds it to the history unless a hub did so before.
func reportMismatches(a apply.Applier, p plan.Plan, w session.World) {
	before := make(map[session.Address]*session.Record, len(p.Changes))
	for _, c := range p.Changes {
		before[c.Address] = c.Before
	}
	reported := map[session.Address]bool{}
	for _, d := range p.Problems {
		if d.Code != string(plan.ReasonBranchMismatch) || reported[d.Address] {
			continue
		}
		reported[d.Address] = true
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

// locked calls act with the state under its lock.
func (e *Engine) locked(ctx context.Context, act func(*state.Store, apply.Applier) (apply.Tally, error)) (tally apply.Tally, err error) {
	if err := check(e.Check, state.State{}); err != nil { // before anything is written
		return apply.Tally{}, err
	}
	if err := layout.MakeDataDir(e.Applier.DataDir); err != nil {
		return apply.Tally{}, err
	}
	store, err := state.Open(ctx, e.StatePath, e.Project, e.Version, e.Who, e.LockWait, e.Applier.OutputsDir)
	if err != nil {
		return apply.Tally{}, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := check(e.Check, store.State()); err != nil {
		return apply.Tally{}, err
	}
	store.OwnedBy(e.Here)
	a := e.Applier
	a.Store, a.Runtime = store, e.runtimes(store.State().Lineage)
	if a.OutputsDir != "" {
		store.MirrorTo(a.OutputsDir)
	}
	tally, err = act(store, a)
	tally.Warnings = append(tally.Warnings, trimHistories(store.State(), a.Folder, e.Keep, e.Observer.Now())...)
	if unwritten := store.MirrorErr(); unwritten != nil {
		tally.Warnings = append(tally.Warnings, session.Diagnostic{Severity: session.Warning,
			Summary: "a session's folder cannot be written", Detail: unwritten.Error() + "\nwhat happens is on record all the same"})
	}
	return tally, err
}

// trimHistories removes events that are older than keep from the histories; 0 keeps all.
func trimHistories(st state.State, folder func(session.Record) string, keep time.Duration, now time.Time) []session.Diagnostic {
	if keep <= 0 {
		return nil
	}
	for _, rec := range st.Sessions {
		if _, err := history.Trim(folder(rec), now.Add(-keep)); err != nil {
			return []session.Diagnostic{{Severity: session.Warning, Address: rec.Address, Summary: "the history is kept longer than wanted", Detail: err.Error()}}
		}
	}
	return nil
}

// await waits, without the lock, until the started sessions are ready.
func (e *Engine) await(ctx context.Context, t apply.Tally) error {
	st, err := e.Read()
	if err != nil {
		return err
	}
	a := e.Applier
	a.Runtime = e.runtimes(st.Lineage)
	return a.Await(ctx, t)
}

// keepApproved compares a plan computed now with the approved one, and removes from it
// what was not approved.
func keepApproved(p *plan.Plan, approved plan.Plan) (left []session.Diagnostic, err error) {
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

// waits reports whether a change is a start that is held.
func waits(c plan.Change) bool {
	switch c.Reason {
	case plan.ReasonQueued, plan.ReasonDependency, plan.ReasonDependencyFailed:
		return c.Action == plan.Hold
	}
	return false
}

// wants reports whether a change leads to what was approved: a held start may still
// wait, or start now.
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

// difference describes how a change has changed.
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

// words returns a change as a plan shows it: ↻ restart.
func words(c plan.Change) string {
	if c.Action == plan.None {
		return "nothing to do"
	}
	return c.Action.Symbol() + " " + string(c.Action)
}
