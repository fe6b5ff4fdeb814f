package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// HubInput is the hub's knowledge of recorded sessions, in addition to the observation.
type HubInput struct {
	plan.Hub
	MaxRunning int                               // agents alive at once; 0: no limit
	Doing      map[session.Address]session.Doing // of agents that other sessions wait for
	// Does returns what the agent of another session does, and whether that is known. It is called for those that
	// the plan ends; nil: nothing is known.
	Does func(session.Address) (session.Doing, bool)
	// OverBudget returns what holds recorded sessions now. If it is nil, what is recorded does.
	OverBudget func(records []session.Record, at time.Time) map[session.Address]session.OverBudget
	// Missing returns why a secret that a start of a plan needs is unavailable, or "". If
	// it is nil, all are available.
	Missing func(start plan.Change, at time.Time) string
}

// Observe observes the sessions of a state, without a lock and without screens, and plans
// what the hub is to do.
func (e *Engine) Observe(ctx context.Context, st state.State, in HubInput) Observation {
	w := e.world(ctx, st, Request{Wanted: recordedSpecs(st)})
	w.Writer = e.writer(st)
	return e.Replan(Observation{State: st, Recorded: st, World: w}, in)
}

// Replan returns the same observation with a plan from other input.
func (e *Engine) Replan(o Observation, in HubInput) Observation {
	recorded := o.Recorded
	if in.OverBudget == nil {
		recorded = o.State
	}
	st, changed := in.judge(recorded, o.World)
	x := observation(st, o.World, e.planHub(st, o.World, in))
	x.Recorded, x.Judged = recorded, len(changed) > 0
	return x
}

// judge returns the state with the holds that budgets order now, and the records that
// differ. A session that a budget stopped is queued when the hold ends, so that it starts
// whatever its restart policy says.
func (in HubInput) judge(st state.State, w session.World) (judged state.State, changed []session.Record) {
	if in.OverBudget == nil {
		return st, nil
	}
	holds := in.OverBudget(st.Sessions, w.At)
	judged = st
	for i, rec := range st.Sessions {
		was := rec.OverBudget
		if o, is := holds[rec.Address]; is {
			if was != nil && was.Budget == o.Budget && was.Desired == o.Desired && was.Until.Equal(o.Until) {
				continue
			}
			rec.OverBudget = &o
		} else if was == nil {
			continue
		} else if rec.OverBudget = nil; was.Desired == session.Stopped && rec.Intent == session.Settled && plan.Desired(rec) != session.Stopped && rec.Finished == nil && stopped(rec, w) {
			rec.Intent = session.Queued
		}
		if len(changed) == 0 {
			judged.Sessions = slices.Clone(st.Sessions)
		}
		judged.Sessions[i] = rec
		changed = append(changed, rec)
	}
	return judged, changed
}

// stopped reports whether the last run of a session was ended by a command or a hub.
func stopped(rec session.Record, w session.World) bool {
	exit := w.Runs[rec.Run.ID].Exit
	if l := byRun(w)[rec.Run.ID]; l != nil {
		exit = l.Exit
	}
	return exit != nil && exit.Cause == session.CauseRequested
}

// recordHolds records what budgets order, and reports it.
func recordHolds(store *state.Store, a apply.Applier, was []session.Record, changed []session.Record) error {
	var errs []error
	for _, rec := range changed {
		e := history.Event{Address: rec.Address, ID: rec.ID, Run: rec.Run.ID, By: history.ByHub}
		if o := rec.OverBudget; o != nil {
			e.Kind, e.New, e.Reason, e.Detail = history.BudgetHeld, o.Budget, string(o.Desired), o.String()
		} else {
			i := slices.IndexFunc(was, func(r session.Record) bool { return r.Address == rec.Address })
			e.Kind, e.Old = history.BudgetLifted, was[i].OverBudget.Budget
		}
		if err := store.Put(rec); err != nil {
			errs = append(errs, fmt.Errorf("record that a budget holds %s: %w", rec.Address, err))
			continue
		}
		a.Tell(e, rec)
	}
	return errors.Join(errs...)
}

// Repair observes and plans again under the lock, and applies that plan, which it
// returns. The error is a *state.LockedError if another process has the lock.
func (e *Engine) Repair(ctx context.Context, in HubInput, drain <-chan struct{}) (plan.Plan, apply.Tally, error) {
	var p plan.Plan
	tally, err := e.locked(ctx, drain, func(store *state.Store, a apply.Applier) (apply.Tally, error) {
		st := store.State()
		w := e.world(ctx, st, Request{Wanted: recordedSpecs(st)})
		judged, changed := in.judge(st, w)
		p = e.planHub(judged, w, in)
		a.By, a.EachAlone = history.ByHub, true
		if err := recordHolds(store, a, st.Sessions, changed); err != nil {
			return apply.Tally{}, err
		}
		return a.Run(ctx, p, drain)
	})
	return p, tally, err
}

// planHub plans within the limits of the hub. It requests the secrets of each start once: a start
// that is held for a missing one can make room for another.
func (e *Engine) planHub(st state.State, w session.World, in HubInput) plan.Plan {
	in.Restarts, in.Lacking = e.restarts.counts(st.Sessions, w, in, e.Applier.Folder, e.restarts.merged(e.Applier.Folder, e.Restarts)), map[session.Address]string{}
	in.Credential = credentials(e, st)
	asked := map[session.Address]bool{}
	x := e.input(st, w, recordedSpecs(st))
	x.ByHand, x.Options.MaxRunning, x.Doing, x.Hub = true, in.MaxRunning, maps.Clone(in.Doing), &in.Hub
	for {
		p := compute(e, &x)
		before := len(in.Lacking)
		learned := in.Does != nil && learn(&x, p, in.Does)
		for _, c := range p.Changes {
			if in.Missing == nil || !c.Starts() || asked[c.Address] {
				continue
			}
			asked[c.Address] = true
			if why := in.Missing(c, w.At); why != "" {
				in.Lacking[c.Address] = why
			}
		}
		if len(in.Lacking) == before && !learned {
			return Explain(p)
		}
	}
}

// learn adds to the input of a plan what the agents do on which the plan depends, and reports whether it did.
func learn(x *plan.Input, p plan.Plan, does func(session.Address) (session.Doing, bool)) bool {
	before := len(x.Doing)
	if x.Doing == nil {
		x.Doing = map[session.Address]session.Doing{}
	}
	for a := range p.Asks() {
		if _, known := x.Doing[a]; known {
			continue
		}
		if d, seen := does(a); seen {
			x.Doing[a] = d
		}
	}
	return len(x.Doing) > before
}

// credentials returns plan.Hub's Credential. Most plans do not call it.
func credentials(e *Engine, st state.State) func(session.Spec, string) session.Credential {
	of := sync.OnceValue(func() func(plan.Change) session.Credential {
		p := plan.Plan{Lineage: st.Lineage}
		for i := range st.Sessions {
			p.Changes = append(p.Changes, plan.Change{Before: &st.Sessions[i]})
		}
		return e.Applier.Credentials(p)
	})
	return func(s session.Spec, id string) session.Credential {
		return of()(plan.Change{Before: &session.Record{ID: id}, After: &s})
	}
}

func recordedSpecs(st state.State) []session.Spec {
	specs := make([]session.Spec, len(st.Sessions))
	for i, rec := range st.Sessions {
		specs[i] = rec.Spec
		specs[i].Address = rec.Address
	}
	return specs
}

// maxMoments bounds what is kept of one history: no restart budget spans more starts.
const maxMoments = 4096

// restartHistories counts restarts from the sessions' histories, each read on from where
// it was read last. The zero value is ready for concurrent use.
type restartHistories struct {
	mu  sync.Mutex
	all map[string]*restartHistory // by the session's directory
}

// merged returns a function for what counts for the restarts of a session: what its history
// says, and what elsewhere knows, which may be nil.
func (h *restartHistories) merged(folder func(session.Record) string, elsewhere func(session.Record) []health.Moment) func(session.Record) []health.Moment {
	return func(r session.Record) []health.Moment {
		all := h.moments(folder(r))
		if elsewhere == nil {
			return all
		}
		all = append(all, elsewhere(r)...)
		slices.SortStableFunc(all, func(a, b health.Moment) int { return a.At.Compare(b.At) })
		return slices.CompactFunc(all, func(a, b health.Moment) bool { return a.At.Equal(b.At) && a.What == b.What })
	}
}

type restartHistory struct {
	tail    *history.Tail
	moments []health.Moment
}

// moments returns the moments of a session's history. One that cannot be read counts as
// empty.
func (h *restartHistories) moments(folder string) []health.Moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.all[folder]
	if x == nil {
		if h.all == nil {
			h.all = map[string]*restartHistory{}
		}
		x = &restartHistory{tail: history.TailOf(folder)}
		h.all[folder] = x
	}
	events, _ := x.tail.More()
	x.moments = append(x.moments, plan.Moments(events)...)
	if over := len(x.moments) - maxMoments; over > 0 {
		x.moments = slices.Clone(x.moments[over:])
	}
	return slices.Clip(x.moments) // the caller may append
}

// counts returns how often the hub has started each session that it may have to act on.
// It forgets the histories of sessions that are not on record.
func (h *restartHistories) counts(records []session.Record, w session.World, in HubInput, folder func(session.Record) string, moments func(session.Record) []health.Moment) map[session.Address]health.Count {
	lives := byRun(w)
	counts, folders := map[session.Address]health.Count{}, make(map[string]bool, len(records))
	for _, rec := range records {
		folders[folder(rec)] = true
		l := lives[rec.Run.ID]
		_, sick := in.Sick[rec.Address]
		settled := rec.Intent == session.Settled && rec.LastError == ""
		if settled && !sick && (l != nil && l.Liveness == session.Alive || plan.Desired(rec) == session.Stopped) {
			continue
		}
		counts[rec.Address] = countRestarts(rec, l, w, moments(rec))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.all, func(f string, _ *restartHistory) bool { return !folders[f] })
	return counts
}

// byRun returns the project's live sessions by run.
func byRun(w session.World) map[string]*session.Live {
	lives := make(map[string]*session.Live, len(w.Lives))
	for i := range w.Lives {
		if !w.Lives[i].Foreign {
			lives[w.Lives[i].Mark.Run] = &w.Lives[i]
		}
	}
	return lives
}

// annotate adds to a person's plan how often the hub has restarted sessions.
func annotate(p *plan.Plan, w session.World, moments func(session.Record) []health.Moment) {
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Action != plan.Restart || c.Before == nil || c.Live != nil && c.Live.Liveness == session.Alive {
			continue
		}
		policy := c.Before.Spec.Restart
		if n := countRestarts(*c.Before, c.Live, w, moments(*c.Before)).Used(policy, w.At); n > 0 {
			c.Detail += fmt.Sprintf("; the hub has restarted it %d of %d times", n, policy.Attempts)
		}
	}
}

// countRestarts counts the hub's restarts of a session from its history and from the exit
// of its run.
func countRestarts(rec session.Record, l *session.Live, w session.World, past []health.Moment) health.Count {
	exit := w.Runs[rec.Run.ID].Exit
	if l != nil {
		exit = l.Exit
	}
	if exit != nil && rec.Run.EndedAt.IsZero() {
		past = append(past, health.Moment{At: exit.At, What: health.Ended, Lasted: exit.Ran.D()})
	}
	c := health.FromHistory(rec.Spec.Restart, past)
	if l != nil && l.Liveness == session.Alive {
		c = c.Current(rec.Spec.Restart, w.At)
	}
	return c
}
