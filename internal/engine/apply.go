package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// ChangedError reports that an approved change is not what would be done now.
type ChangedError struct {
	Changes []string // one sentence for each session
}

func (e *ChangedError) Error() string {
	return strings.Join(e.Changes, "\n") + "\nnothing was changed; plan again"
}

// Apply applies an approved plan. It observes and plans again under the lock. If an approved change
// now differs, nothing is done and the error is a *ChangedError; a *state.LockedError, if another
// process has the lock. Changes that were not approved are left out, with a warning in the tally.
func (e *Engine) Apply(ctx context.Context, q Request, approved plan.Plan, drain <-chan struct{}) (apply.Tally, error) {
	tally, err := e.locked(ctx, drain, func(store *state.Store, a apply.Applier) (apply.Tally, error) {
		st := store.State()
		w := e.resolve(ctx, st, q)
		p := e.decide(ctx, st, w, q, false)
		if approved.Lineage != "" && approved.Lineage != p.Lineage {
			return apply.Tally{}, fmt.Errorf("the plan is for another state (lineage %s, this one is %s): plan again", approved.Lineage, p.Lineage)
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
	err = e.await(ctx, q.Wait, &tally, err)
	return tally, err
}

func notObserved(p plan.Plan) error {
	var errs []error
	for _, d := range p.Problems {
		if d.Severity == session.Error && d.Address == "" {
			errs = append(errs, d)
		}
	}
	return errors.Join(append(errs, errors.New("nothing was done"))...)
}

// reportMismatches reports each session whose workspace is on another branch, and adds
// it to the history unless a hub did.
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

// locked calls act with the state under its lock. It does not wait for the lock when drain is
// closed.
func (e *Engine) locked(ctx context.Context, drain <-chan struct{}, act func(*state.Store, apply.Applier) (apply.Tally, error)) (tally apply.Tally, err error) {
	if err := e.check(state.State{}); err != nil { // before anything is written
		return apply.Tally{}, err
	}
	if err := layout.MakeDataDir(e.Applier.DataDir); err != nil {
		return apply.Tally{}, err
	}
	open := e.Open
	if open == nil {
		open = func(ctx context.Context, _ func(session.Record) []health.Moment) (*state.Store, error) {
			return state.Open(ctx, e.StatePath, e.Project, e.Version, e.Who, e.LockWait, e.Applier.OutputsDir)
		}
	}
	waiting, stop := context.WithCancel(ctx)
	go func() {
		select {
		case <-drain:
			stop()
		case <-waiting.Done():
		}
	}()
	store, err := open(waiting, e.restarts.merged(e.Applier.Folder, e.Restarts))
	stop()
	if err != nil {
		return apply.Tally{}, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := e.check(store.State()); err != nil {
		return apply.Tally{}, err
	}
	store.OwnedBy(e.Here)
	a := e.Applier
	a.Store, a.Runtime = store, e.runtimes(store.State().Lineage)
	if a.OutputsDir != "" {
		store.MirrorTo(a.OutputsDir)
	}
	tally, err = act(store, a)
	warn := func(a session.Address, summary, detail string) {
		tally.Warnings = append(tally.Warnings, session.Diagnostic{Severity: session.Warning, Address: a, Summary: summary, Detail: detail})
	}
	for _, rec := range store.State().Sessions {
		if e.Keep <= 0 {
			break
		}
		if _, err := history.Trim(a.Folder(rec), e.Observer.Now().Add(-e.Keep)); err != nil {
			warn(rec.Address, "the history is kept longer than configured", err.Error())
			break
		}
	}
	if unwritten := store.MirrorErr(); unwritten != nil {
		warn("", "a session's directory cannot be written", unwritten.Error()+"\nthe state is written nevertheless")
	}
	return tally, err
}

// await waits, without the lock, until the sessions that were started are ready.
func (e *Engine) await(ctx context.Context, wait bool, t *apply.Tally, err error) error {
	if !wait || ctx.Err() != nil || errors.Is(err, apply.ErrInterrupted) {
		return err
	}
	st, unread := e.Read()
	if unread != nil {
		return errors.Join(err, unread)
	}
	a := e.Applier
	a.Runtime = e.runtimes(st.Lineage)
	return errors.Join(err, a.Await(ctx, t))
}

// keepApproved removes from a plan computed now what was not approved.
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
				Summary: "not approved, and not changed",
				Detail:  fmt.Sprintf("since the plan was made, %s is needed, too (%s): plan again", words(*c), c.Detail)})
			c.Action, c.Then = plan.None, ""
		}
	}
	return left, nil
}

func waits(c plan.Change) bool {
	return c.Action == plan.Hold &&
		(c.Reason == plan.ReasonQueued || c.Reason == plan.ReasonDependency || c.Reason == plan.ReasonDependencyFailed)
}

// wants reports whether a change starts, now or later, what was approved to start later.
func wants(is *plan.Change, was plan.Change) bool {
	if is.After == nil || was.After == nil || !waits(*is) && is.Action != was.Holds {
		return false
	}
	now, err := json.Marshal(is.After)
	then, err2 := json.Marshal(was.After)
	return err == nil && err2 == nil && bytes.Equal(now, then)
}

func difference(was plan.Change, is *plan.Change) string {
	how := "it was " + words(was)
	switch {
	case is == nil:
		how += ", and there is no such session any more"
	case words(was) == words(*is):
		how = fmt.Sprintf("it is still %s, but not for the same difference or on the same run (%s)", words(was), is.Detail)
	default:
		how += ", and is now " + strings.TrimSuffix(words(*is)+": "+is.Detail, ": ")
	}
	return fmt.Sprintf("%s has changed since the plan was made: %s", was.Address, how)
}

func words(c plan.Change) string {
	if c.Action == plan.None {
		return "nothing to do"
	}
	return c.Action.Symbol() + " " + string(c.Action)
}
