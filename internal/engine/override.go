package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Override is what a person wants of sessions, other than their manifest.
type Override struct {
	// Addresses of recorded sessions, or of blocks: all their instances.
	Addresses []session.Address
	Desired   session.Desired
	Restart   bool // restart sessions whatever their state
	Fresh     bool // start a new conversation, with the prompt
	// AfterTurn lets a running turn end before an agent is stopped.
	AfterTurn  bool
	TurnLimit  time.Duration
	MaxRunning int // holds starts beyond as many agents alive at once; 0: no limit
	// IgnoreBudget lets the budgets of sessions that are held by one start over.
	IgnoreBudget bool
	// Wait makes Override wait until every session that it started is ready.
	Wait bool
}

// defaultTurn is more than most turns of coding agents take.
const defaultTurn = 5 * time.Minute

// TurnLimit returns the limit of a session's turn: limit, else that of its stop block,
// else defaultTurn.
func TurnLimit(limit time.Duration) func(session.Spec) time.Duration {
	return func(s session.Spec) time.Duration { return cmp.Or(limit, s.Stop.AfterTurn.D(), defaultTurn) }
}

// UnknownError reports that an address is not on record.
type UnknownError struct{ Address session.Address }

func (e *UnknownError) Error() string {
	return remedy.With(string(e.Address)+" is not in the state", session.Remedy{Code: session.RemedyApplyManifest})
}

// Override applies and records a user's override, under the lock. An override that matches the
// recorded spec ends the one before. A session with a problem, or in an unknown state, is left
// unchanged and is among the errors; the others are changed.
func (e *Engine) Override(ctx context.Context, o Override, drain <-chan struct{}) (plan.Plan, apply.Tally, error) {
	var p plan.Plan
	tally, err := e.locked(ctx, drain, func(store *state.Store, a apply.Applier) (apply.Tally, error) {
		st := store.State()
		x, err := o.records(&st, session.Override{Desired: o.Desired, By: a.By, At: e.Observer.Now()})
		if err != nil {
			return apply.Tally{}, err
		}
		q := Request{Options: plan.Options{Targets: o.Addresses, MaxRunning: o.MaxRunning, IgnoreBudget: o.IgnoreBudget}}
		for _, rec := range x.after {
			q.Wanted = append(q.Wanted, rec.Spec)
		}
		if o.Restart {
			q.Options.Restart = o.Addresses
		}
		if o.Fresh {
			q.Options.Fresh = o.Addresses
		}
		p = e.decide(ctx, st, e.world(ctx, st, q), q, true)
		for i := range p.Changes {
			p.Changes[i].Approved = waits(p.Changes[i])
		}
		able, errs := x.check(p, e)
		if err := x.save(store, a, able, p); err != nil {
			return apply.Tally{}, err
		}
		if o.AfterTurn {
			a.AfterTurn = TurnLimit(o.TurnLimit)
		}
		tally, err := a.Run(ctx, p, drain)
		for _, d := range p.Problems {
			if d.Code == string(plan.ReasonBlockedAPI) {
				tally.Warnings = append(tally.Warnings, d)
			}
		}
		errs = append(errs, err, x.revert(store, a, tally))
		return tally, errors.Join(errs...)
	})
	err = e.await(ctx, o.Wait, &tally, err)
	return p, tally, err
}

type overridden struct{ before, after []session.Record }

func (o Override) records(st *state.State, set session.Override) (overridden, error) {
	var x overridden
	for _, target := range o.Addresses {
		if !slices.ContainsFunc(st.Sessions, func(rec session.Record) bool { return rec.Address.Within(target) }) {
			return x, &UnknownError{target}
		}
	}
	for i := range st.Sessions {
		rec := &st.Sessions[i]
		if rec.Spent() || !slices.ContainsFunc(o.Addresses, rec.Address.Within) {
			continue
		}
		x.before = append(x.before, *rec)
		rec.Override = nil
		if rec.Finished != nil && set.Desired == session.Running {
			rec.Finished, rec.FinishFrom = nil, set.At
		}
		if set.Desired != rec.Spec.Desired {
			rec.Override = new(set)
		}
		x.after = append(x.after, *rec)
	}
	return x, nil
}

// check returns which sessions the plan can change as wanted, and why not the others.
func (x overridden) check(p plan.Plan, e *Engine) (able map[session.Address]bool, errs []error) {
	able = make(map[session.Address]bool, len(x.after))
	for _, rec := range x.after {
		able[rec.Address] = true
	}
	for _, d := range p.Problems {
		if d.Code == string(plan.ReasonUnobserved) {
			continue // a warning only: the session can still be stopped
		}
		if d.Severity == session.Error && (able[d.Address] || d.Address == "") {
			delete(able, d.Address)
			errs = append(errs, d)
		}
	}
	for _, c := range p.Changes {
		if able[c.Address] && c.Reason == plan.ReasonOverBudget && c.Action == plan.Hold && wantsWork(*c.Before) {
			delete(able, c.Address)
			errs = append(errs, fmt.Errorf("%s: %s", c.Address, c.Detail))
		}
		if able[c.Address] && c.State == session.StateUnknown && !c.Action.Acts() {
			delete(able, c.Address)
			detail := c.Detail
			if e.Shared && c.Reason == plan.ReasonElsewhere {
				detail = remedy.With(detail, plan.Elsewhere(*c.Before, e.Here))
			}
			errs = append(errs, fmt.Errorf("%s: its state is unknown, so nothing was done: %s", c.Address, detail))
		}
	}
	return able, errs
}

func wantsWork(rec session.Record) bool {
	return cmp.Or(desired(rec.Override), rec.Spec.Desired) == session.Running
}

// save records new overrides before they are acted on. One that stops an agent may fail
// on a full disk: it is recorded when the agent has stopped.
func (x overridden) save(store *state.Store, a apply.Applier, able map[session.Address]bool, p plan.Plan) error {
	ends := map[session.Address]bool{}
	for _, c := range p.Changes {
		ends[c.Address] = c.Action == plan.Stop
	}
	var wg sync.WaitGroup
	var saved []int
	errs := make([]error, len(x.after))
	for i, rec := range x.after {
		if !able[rec.Address] || desired(x.before[i].Override) == desired(rec.Override) {
			continue
		}
		saved = append(saved, i)
		wg.Go(func() { errs[i] = store.Put(rec) }) // together: they share one write
	}
	wg.Wait()
	for _, i := range saved {
		rec := x.after[i]
		switch {
		case errs[i] == nil:
			e := history.Event{Address: rec.Address, ID: rec.ID, Run: rec.Run.ID, Kind: history.OverrideSet,
				Old: string(desired(x.before[i].Override)), New: string(desired(rec.Override))}
			if rec.Override == nil {
				e.Kind, e.New = history.OverrideLifted, string(rec.Spec.Desired)
			}
			a.Tell(e, rec)
		case ends[rec.Address] && state.Unwritable(errs[i]):
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

// revert restores the overrides before pauses that failed: the agents still work.
func (x overridden) revert(store *state.Store, a apply.Applier, tally apply.Tally) error {
	var errs []error
	for i, rec := range x.after {
		was := x.before[i].Override
		at := slices.IndexFunc(tally.Results, func(res apply.Result) bool {
			return res.Address == rec.Address && res.Action == plan.Pause && res.Outcome == apply.Failed && res.Record != nil
		})
		if at < 0 || desired(rec.Override) == desired(was) {
			continue
		}
		now := *tally.Results[at].Record
		now.Override = was
		if err := store.Put(now); err != nil {
			errs = append(errs, fmt.Errorf("withdraw the pause of %s: %w", rec.Address, err))
			continue
		}
		a.Tell(history.Event{Address: rec.Address, ID: rec.ID, Run: rec.Run.ID, Kind: history.OverrideLifted,
			Old: string(desired(rec.Override)), New: string(rec.Spec.Desired)}, now)
	}
	return errors.Join(errs...)
}

func desired(o *session.Override) session.Desired {
	if o == nil {
		return ""
	}
	return o.Desired
}
