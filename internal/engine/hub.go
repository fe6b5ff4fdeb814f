package engine

import (
	"context"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// HubInput is what the hub knows of recorded sessions besides what is observed.
type HubInput struct {
	plan.Hub
	MaxRunning int                               // agents alive at once; 0: no limit
	Doing      map[session.Address]session.Doing // of agents that other sessions wait for
	// Missing returns why a secret that a start of a plan needs is unavailable, or "". If
	// it is nil, all are available.
	Missing func(start plan.Change, at time.Time) string
}

// Observe observes the sessions of a state, without a lock and without screens, and plans
// what the hub is to do.
func (e *Engine) Observe(ctx context.Context, st state.State, in HubInput) Observation {
	w := e.world(ctx, st, Request{Wanted: recordedSpecs(st)})
	w.Writer = e.writer(st)
	return observation(st, w, e.planHub(st, w, in))
}

// Replan returns the same observation with a plan from other input.
func (e *Engine) Replan(o Observation, in HubInput) Observation {
	return observation(o.State, o.World, e.planHub(o.State, o.World, in))
}

// Repair observes and plans again under the lock, and applies that plan, which it
// returns. The error is a *state.LockedError if another process has the lock.
func (e *Engine) Repair(ctx context.Context, in HubInput, drain <-chan struct{}) (plan.Plan, apply.Tally, error) {
	var p plan.Plan
	tally, err := e.locked(ctx, func(store *state.Store, a apply.Applier) (apply.Tally, error) {
		st := store.State()
		p = e.planHub(st, e.world(ctx, st, Request{Wanted: recordedSpecs(st)}), in)
		a.By, a.EachAlone = history.ByHub, true
		return a.Run(ctx, p, drain)
	})
	return p, tally, err
}

// planHub plans within the limits of the hub. It asks for the secrets of each start once:
// a start that is held for a missing one can make room for another.
func (e *Engine) planHub(st state.State, w session.World, in HubInput) plan.Plan {
	in.Restarts, in.Lacking = e.restarts.counts(st.Sessions, w, in, e.Applier.Folder), map[session.Address]string{}
	asked := map[session.Address]bool{}
	x := e.input(st, w, recordedSpecs(st))
	x.ByHand, x.Options.MaxRunning, x.Doing, x.Hub = true, in.MaxRunning, in.Doing, &in.Hub
	for {
		p := plan.Compute(x)
		before := len(in.Lacking)
		for _, c := range p.Changes {
			if in.Missing == nil || !c.Starts() || asked[c.Address] {
				continue
			}
			asked[c.Address] = true
			if why := in.Missing(c, w.At); why != "" {
				in.Lacking[c.Address] = why
			}
		}
		if len(in.Lacking) == before {
			return Explain(p)
		}
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
