package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Observation is the recorded and the live sessions.
type Observation struct {
	State    state.State // with what budgets order
	Recorded state.State
	Judged   bool // budgets order other than what is recorded
	World    session.World
	Sessions []Seen // in the order of addresses, as Pending
	Pending  []Pending
	Plan     plan.Plan // with what is recorded as what is wanted
}

// Seen is one recorded session as observed.
type Seen struct {
	Record    session.Record
	Live      *session.Live     // nil: there is no live session
	Checkout  *session.Checkout // nil: what holds it did not answer
	Diagnosis plan.Diagnosis
}

// Pending is one session that is wanted and not on record.
type Pending struct {
	Spec     session.Spec
	Live     *session.Live     // nil: nothing of it runs
	Checkout *session.Checkout // as in Seen
	Adopts   bool              // the next apply adopts what runs
	Other    string            // why it cannot be started next to an agent that runs; empty: it can
}

// Inspect observes, without a lock, all sessions on record or wanted.
func (e *Engine) Inspect(ctx context.Context, screens bool, wanted ...session.Spec) (Observation, error) {
	for n := 1; ; n++ {
		st, err := e.Read()
		if err != nil {
			return Observation{}, err
		}
		o := e.inspect(ctx, st, screens, wanted)
		if n == maxAttempts || o.World.Writer.Name != "" || !slices.ContainsFunc(st.Sessions, inProgress) {
			return o, nil
		}
		if serial, err := state.Serial(e.StatePath); err != nil || serial == st.Serial {
			return o, nil
		}
		// The apply that was running has ended since the state was read.
	}
}

func inProgress(rec session.Record) bool {
	return rec.Intent != session.Settled && rec.Intent != session.Queued
}

// writer returns the command that holds the lock and is changing sessions.
func (e *Engine) writer(st state.State) session.Writer {
	if !slices.ContainsFunc(st.Sessions, inProgress) {
		return session.Writer{}
	}
	h, held := state.HeldBy(e.StatePath)
	if !held || h.PID == 0 {
		return session.Writer{}
	}
	at := ""
	if h.Host != e.Who.Host {
		at = " on " + h.Host
	}
	return session.Writer{Name: fmt.Sprintf("%s (pid %d%s)", h.Command, h.PID, at), Since: h.Since}
}

func (e *Engine) inspect(ctx context.Context, st state.State, screens bool, wanted []session.Spec) Observation {
	specs := recordedSpecs(st)
	pending := slices.DeleteFunc(slices.Clone(wanted), func(s session.Spec) bool {
		return slices.ContainsFunc(st.Sessions, func(r session.Record) bool { return r.Address == s.Address })
	})
	observer := e.observer(st, Request{})
	observer.Also = pending
	w := observer.World(ctx, specs, st.Sessions, screens)
	w.Writer = e.writer(st)
	in := e.input(st, w, specs)
	in.ByHand = true
	o := observation(st, w, Explain(compute(e, &in)))
	if len(pending) == 0 {
		return o
	}
	in.Wanted, in.ByHand = pending, false
	for _, c := range Explain(compute(e, &in)).Changes {
		if c.Before != nil {
			continue
		}
		x := Pending{Spec: *c.After, Live: c.Live, Checkout: looked(w, c.After.Workspace.Path), Adopts: c.Action == plan.Adopt}
		if c.Reason == plan.ReasonAgentRuns {
			x.Other = c.Detail
		}
		o.Pending = append(o.Pending, x)
	}
	return o
}

// looked returns a workspace as observed, or nil if it was not.
func looked(w session.World, path string) *session.Checkout {
	if co, ok := w.Checkouts[path]; ok {
		return &co
	}
	return nil
}

func observation(st state.State, w session.World, p plan.Plan) Observation {
	o := Observation{State: st, World: w, Plan: p, Sessions: make([]Seen, 0, len(p.Changes))}
	for _, c := range p.Changes {
		if c.Before != nil {
			o.Sessions = append(o.Sessions, Seen{
				Record: *c.Before, Live: c.Live, Checkout: looked(w, c.Before.Tree.Path),
				Diagnosis: Diagnose(c.Before, c.Live, w),
			})
		}
	}
	return o
}
