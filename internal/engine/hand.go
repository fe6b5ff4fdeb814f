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
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Hand is what a person tells sessions by hand.
type Hand struct {
	// Addresses of recorded sessions; a block's address means all its instances.
	Addresses []session.Address
	// Desired is what they are to be: paused for pause, stopped for stop, running
	// for start, resume and restart.
	Desired session.Desired
	// Restart starts them again whatever their state.
	Restart bool
	// Fresh has them begin a fresh conversation, with their prompt.
	Fresh bool
	// AfterTurn lets a running turn end before an agent is ended, for at most
	// TurnLimit; 0: as long as the session's stop block says, or defaultTurn.
	AfterTurn bool
	TurnLimit time.Duration
	// Wait lets Override return only when every session that it started is ready.
	Wait bool
}

// defaultTurn is how long a turn is let end when neither the person nor the
// manifest says: most turns of coding agents take less.
const defaultTurn = 5 * time.Minute

// TurnLimit returns for how long the turn of a session is let end: the limit, if it
// is above 0, else as the session's stop block says, or five minutes.
func TurnLimit(limit time.Duration) func(session.Spec) time.Duration {
	return func(s session.Spec) time.Duration { return cmp.Or(limit, s.Stop.AfterTurn.D(), defaultTurn) }
}

// UnknownError says that an address is not on record.
type UnknownError struct{ Address session.Address }

// Error names it.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s is not on record: agentform apply makes what the manifest has", e.Address)
}

// Override carries out what a person tells sessions by hand, under the lock. It
// goes on record as an override, which later plans respect, or lift naming who
// set it; being told what the recorded spec says anyway ends an override. The
// plan that was carried out is returned too.
//
// A session that there is a problem with, or that cannot be looked at, is left
// as it is and is among the errors; the others are carried out.
func (r *Reconciler) Override(ctx context.Context, h Hand, drain <-chan struct{}) (plan.Plan, apply.Tally, error) {
	var p plan.Plan
	tally, err := r.locked(ctx, func(store *state.Store, a apply.Applier) (apply.Tally, error) {
		st := store.State()
		told, err := r.tell(&st, h)
		if err != nil {
			return apply.Tally{}, err
		}
		options := plan.Options{Targets: h.Addresses}
		if h.Restart {
			options.Restart = h.Addresses
		}
		if h.Fresh {
			options.Fresh = h.Addresses
		}
		q := Request{Wanted: told.specs, Options: options}
		p = r.decide(ctx, st, r.look(ctx, st, q, false, nil), q, true)
		for i := range p.Changes {
			p.Changes[i].Approved = waits(p.Changes[i])
		}
		able, errs := told.judge(p)
		if err := told.record(store, a, able, p); err != nil {
			return apply.Tally{}, err
		}
		if h.AfterTurn {
			a.AfterTurn = TurnLimit(h.TurnLimit)
		}
		tally, err := a.Run(ctx, p, drain)
		errs = append(errs, err, told.withdraw(store, a, tally))
		return tally, errors.Join(errs...)
	})
	if h.Wait && ctx.Err() == nil && !errors.Is(err, apply.ErrInterrupted) {
		err = errors.Join(err, r.await(ctx, tally))
	}
	return p, tally, err
}

// told is what a hand says, laid on the records that it is about.
type told struct {
	before []session.Record
	after  []session.Record
	specs  []session.Spec
}

// tell lays the hand's word on the records in st.
func (r *Reconciler) tell(st *state.State, h Hand) (told, error) {
	var t told
	for _, target := range h.Addresses {
		if !slices.ContainsFunc(st.Sessions, func(rec session.Record) bool { return rec.Address.Within(target) }) {
			return told{}, &UnknownError{target}
		}
	}
	for i := range st.Sessions {
		rec := &st.Sessions[i]
		if !slices.ContainsFunc(h.Addresses, rec.Address.Within) {
			continue
		}
		t.before = append(t.before, *rec)
		rec.Override = nil
		if h.Desired != rec.Spec.Desired {
			rec.Override = &session.Override{Desired: h.Desired, By: r.Applier.By, At: r.Observer.Now()}
		}
		t.after = append(t.after, *rec)
		t.specs = append(t.specs, rec.Spec)
	}
	return t, nil
}

// judge tells with which sessions the plan can do what was told, and why not
// with the others.
func (t told) judge(p plan.Plan) (able map[session.Address]bool, errs []error) {
	able = make(map[session.Address]bool, len(t.after))
	for _, rec := range t.after {
		able[rec.Address] = true
	}
	for _, d := range p.Problems {
		if d.Code == string(plan.ReasonUnobserved) {
			continue // it is told, and keeps nobody from ending it
		}
		if d.Severity == session.Error && (able[d.Address] || d.Address == "") {
			delete(able, d.Address)
			errs = append(errs, d)
		}
	}
	for _, c := range p.Changes {
		if able[c.Address] && c.State == session.StateUnknown && !c.Action.Acts() {
			delete(able, c.Address)
			errs = append(errs, fmt.Errorf("%s: its state is unknown, so nothing was done: %s", c.Address, c.Detail))
		}
	}
	return able, errs
}

// record puts the overrides that are new on record, before they are acted on. On a disk
// that accepts no writes, one that ends an agent is recorded with its end.
func (t told) record(store *state.Store, a apply.Applier, able map[session.Address]bool, p plan.Plan) error {
	ends := map[session.Address]bool{}
	for _, c := range p.Changes {
		ends[c.Address] = c.Action == plan.Stop
	}
	var wg sync.WaitGroup
	errs := make([]error, len(t.after))
	fresh := make([]bool, len(t.after))
	for i, rec := range t.after {
		if able[rec.Address] && desired(t.before[i].Override) != desired(rec.Override) {
			fresh[i] = true
			wg.Go(func() { errs[i] = store.Put(rec) }) // together: they share one write
		}
	}
	wg.Wait()
	for i, rec := range t.after {
		if !fresh[i] || errs[i] != nil {
			continue
		}
		e := history.Event{Address: rec.Address, ID: rec.ID, Run: rec.Run.ID, Kind: history.OverrideSet,
			Old: string(desired(t.before[i].Override)), New: string(desired(rec.Override))}
		if rec.Override == nil {
			e.Kind, e.New = history.OverrideLifted, string(rec.Spec.Desired)
		}
		a.Tell(e, rec)
	}
	for i, rec := range t.after {
		if ends[rec.Address] && state.Unwritable(errs[i]) {
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

// withdraw takes back the overrides of pauses that failed: the agents work on.
func (t told) withdraw(store *state.Store, a apply.Applier, tally apply.Tally) error {
	var errs []error
	for i, rec := range t.after {
		was := t.before[i].Override
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
