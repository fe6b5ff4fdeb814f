package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Care is what the hub knows of the recorded sessions that it looks after, besides
// what a look shows. Its Restarts are read from the histories.
type Care struct {
	plan.Hub
	MaxRunning int // agents alive at once; 0: no limit
	// Doing is what the agents do that other sessions wait for.
	Doing map[session.Address]session.Doing
	// Missing returns why a secret that a start needs is unavailable, or "". It is
	// called for each start of a plan; nil: all are available.
	Missing func(start plan.Change, at time.Time) string
}

// Survey is the recorded sessions as the hub sees them, and what it is to do.
type Survey struct {
	Status
	Plan plan.Plan
}

// Read is what is on record now, without the lock; an empty state if there is none
// yet.
func (r *Reconciler) Read() (state.State, error) { return r.read() }

// Opened is a runtime of the project with that lineage, opened once.
func (r *Reconciler) Opened(lineage string, spec session.RuntimeSpec) (session.Runtime, error) {
	return r.runtimes(lineage)(spec)
}

// Survey looks, without a lock and without screens, at the sessions of a state, and
// plans what the hub is to do. A history that cannot be read counts as empty.
func (r *Reconciler) Survey(ctx context.Context, st state.State, c Care) Survey {
	wanted := recorded(st)
	w := r.look(ctx, st, Request{Wanted: wanted}, false, nil)
	w.Writer = r.writer(st)
	return r.survey(st, wanted, w, c)
}

// Again is the survey of the same look with other care.
func (r *Reconciler) Again(s Survey, c Care) Survey {
	return r.survey(s.State, recorded(s.State), s.World, c)
}

func (r *Reconciler) survey(st state.State, wanted []session.Spec, w session.World, c Care) Survey {
	s := Survey{Plan: r.bounded(st, wanted, w, c)}
	s.State, s.World, s.Drift, s.Problems = st, w, s.Plan.Drift, s.Plan.Problems
	s.Sessions = make([]Seen, 0, len(s.Plan.Changes))
	for _, change := range s.Plan.Changes {
		if change.Before == nil {
			continue
		}
		s.Sessions = append(s.Sessions, Seen{
			Record: *change.Before, Live: change.Live, Checkout: w.Checkouts[change.Before.Tree.Path],
			Diagnosis: plan.Diagnose(change.Before, change.Live, w),
		})
	}
	return s
}

// bounded plans as the hub may. It asks for the secrets of each start once: a start
// that is held for a missing one can make room for another.
func (r *Reconciler) bounded(st state.State, wanted []session.Spec, w session.World, c Care) plan.Plan {
	c.Restarts, c.Lacking = r.restarts(st, w, c), map[session.Address]string{}
	asked := map[session.Address]bool{}
	for {
		p := plan.Compute(plan.Input{
			Now: w.At, Project: r.Project, Lineage: st.Lineage, Serial: st.Serial,
			Wanted: wanted, Records: st.Sessions, World: w, ByHand: true,
			Options: plan.Options{MaxRunning: c.MaxRunning}, Doing: c.Doing, Hub: &c.Hub,
		})
		known := len(c.Lacking)
		for _, change := range p.Changes {
			if c.Missing == nil || !change.Starts() || asked[change.Address] {
				continue
			}
			asked[change.Address] = true
			if why := c.Missing(change, w.At); why != "" {
				c.Lacking[change.Address] = why
			}
		}
		if len(c.Lacking) == known {
			return p
		}
	}
}

// Repair does what the hub may, under the lock: it looks and computes again, and
// carries out what is to be done now. Every event of it is caused by the hub. The
// plan that was carried out is returned too.
//
// The error is a *state.LockedError when somebody else is at work, else what
// apply.Applier.Run returns.
func (r *Reconciler) Repair(ctx context.Context, c Care, drain <-chan struct{}) (plan.Plan, apply.Tally, error) {
	var p plan.Plan
	tally, err := r.locked(ctx, func(store *state.Store, a apply.Applier) (apply.Tally, error) {
		st := store.State()
		wanted := recorded(st)
		p = r.bounded(st, wanted, r.look(ctx, st, Request{Wanted: wanted}, false, nil), c)
		a.By, a.EachAlone = history.ByHub, true
		return a.Run(ctx, p, drain)
	})
	return p, tally, err
}

// recorded are the specs on record, at the addresses that they are recorded under.
func recorded(st state.State) []session.Spec {
	specs := make([]session.Spec, len(st.Sessions))
	for i, rec := range st.Sessions {
		specs[i] = rec.Spec
		specs[i].Address = rec.Address
	}
	return specs
}

// restarts counts how often the hub has started each session that it may have to
// do something with.
func (r *Reconciler) restarts(st state.State, w session.World, c Care) map[session.Address]health.Count {
	lives := make(map[string]*session.Live, len(w.Lives))
	for i := range w.Lives {
		if !w.Lives[i].Foreign {
			lives[w.Lives[i].Mark.Run] = &w.Lives[i]
		}
	}
	counts := map[session.Address]health.Count{}
	for _, rec := range st.Sessions {
		l := lives[rec.Run.ID]
		_, sick := c.Sick[rec.Address]
		settled := rec.Intent == session.Settled && rec.Trouble == ""
		if settled && !sick && (l != nil && l.Vital == session.Alive || Desired(rec) == session.Stopped) {
			continue
		}
		counts[rec.Address] = restarts(rec, l, w.Runs[rec.Run.ID].Exit, r.past.moments(r.Applier.Folder(rec)), w.At)
	}
	r.past.keep(st.Sessions, r.Applier.Folder)
	return counts
}

// Outlook is what the hub does, or would do, about what a look saw.
func (r *Reconciler) Outlook(s Status, c Care) plan.Plan {
	return r.bounded(s.State, recorded(s.State), s.World, c)
}

// tried says in a person's plan how often the hub has started again what the plan
// starts.
func (r *Reconciler) tried(p *plan.Plan, w session.World) {
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Action != plan.Restart || c.Before == nil || c.Live != nil && c.Live.Vital == session.Alive {
			continue
		}
		policy := c.Before.Spec.Restart
		count := restarts(*c.Before, c.Live, w.Runs[c.Before.Run.ID].Exit, r.past.moments(r.Applier.Folder(*c.Before)), w.At)
		if n := count.Used(policy, w.At); n > 0 {
			c.Detail += fmt.Sprintf("; the hub has started it again %d of %d times", n, policy.Attempts)
		}
	}
}

// Restarts counts how often the hub has started a session: from its history, the
// oldest event first, and from how its run stands now, as the runtime sees it (nil:
// not at all) or as the run's folder tells.
func Restarts(rec session.Record, l *session.Live, exit *session.Exit, events []history.Event, now time.Time) health.Count {
	return restarts(rec, l, exit, plan.Moments(events), now)
}

func restarts(rec session.Record, l *session.Live, exit *session.Exit, past []health.Moment, now time.Time) health.Count {
	if l != nil {
		exit = l.Exit
	}
	if exit != nil && rec.Run.EndedAt.IsZero() {
		past = append(past, health.Moment{At: exit.At, What: health.Ended, Stood: exit.Ran.D()})
	}
	c := health.Fold(rec.Spec.Restart, past)
	if l != nil && l.Vital == session.Alive {
		c = c.Stands(rec.Spec.Restart, now)
	}
	return c
}

// Desired is what a session was last told to be: by hand, else by its spec.
func Desired(rec session.Record) session.Desired {
	if rec.Override != nil {
		return rec.Override.Desired
	}
	return rec.Spec.Desired
}
