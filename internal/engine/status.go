package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Status is what is on record beside what is live.
type Status struct {
	State    state.State
	World    session.World
	Sessions []Seen // on record, in the order of addresses
	// Pending are the wanted sessions that are not in the state, in the order of
	// addresses.
	Pending []Pending
	// Drift is how the live world differs from the record, orphans included.
	Drift []plan.Drift
	// Problems are what keeps sessions from being as they were told to be.
	Problems []session.Diagnostic
}

// Seen is one recorded session as it is.
type Seen struct {
	Record    session.Record
	Live      *session.Live // nil: nothing of it is to be seen
	Checkout  session.Checkout
	Diagnosis plan.Diagnosis
}

// Pending is one session that is wanted and not in the state.
type Pending struct {
	Spec     session.Spec
	Live     *session.Live // nil: nothing of it runs
	Checkout session.Checkout
	Adopts   bool // the next apply adopts what runs
}

// Status looks, without a lock, at every recorded session, with its screen if
// that is wanted, and at the wanted ones that are not recorded. The error says that the
// state cannot be read.
func (r *Reconciler) Status(ctx context.Context, screens bool, wanted ...session.Spec) (Status, error) {
	for n := 1; ; n++ {
		st, err := r.read()
		if err != nil {
			return Status{}, err
		}
		s := r.status(ctx, st, screens, wanted)
		if n == tries || s.World.Writer.Name != "" || !slices.ContainsFunc(st.Sessions, unsettled) {
			return s, nil
		}
		if serial, err := state.Serial(r.StatePath); err != nil || serial == st.Serial {
			return s, nil
		}
		// Whoever was at work has ended since the state was read.
	}
}

// unsettled reports whether something was under way when a record was saved.
func unsettled(rec session.Record) bool {
	return rec.Intent != session.Settled && rec.Intent != session.Queued
}

// writer returns the command that is at work on the sessions of a state. It is for looks
// without the lock.
func (r *Reconciler) writer(st state.State) session.Writer {
	if !slices.ContainsFunc(st.Sessions, unsettled) {
		return session.Writer{}
	}
	h, held := state.HeldBy(r.StatePath)
	if !held || h.PID == 0 {
		return session.Writer{}
	}
	at := ""
	if h.Host != r.Who.Host {
		at = " on " + h.Host
	}
	return session.Writer{Name: fmt.Sprintf("%s (pid %d%s)", h.Command, h.PID, at), Since: h.Since}
}

func (r *Reconciler) status(ctx context.Context, st state.State, screens bool, wanted []session.Spec) Status {
	specs := make([]session.Spec, len(st.Sessions))
	for i, rec := range st.Sessions {
		specs[i] = rec.Spec
	}
	pending := unrecorded(st, wanted)
	q := Request{Wanted: specs, also: pending}
	w := r.look(ctx, st, q, screens, nil)
	w.Writer = r.writer(st)
	in := plan.Input{Now: w.At, Project: r.Project, Lineage: st.Lineage, Serial: st.Serial,
		Wanted: specs, Records: st.Sessions, World: w, ByHand: true}
	p := plan.Compute(in)
	s := Status{State: st, World: w, Drift: p.Drift, Problems: p.Problems, Sessions: make([]Seen, 0, len(p.Changes))}
	for _, c := range p.Changes {
		if c.Before == nil {
			continue
		}
		s.Sessions = append(s.Sessions, Seen{
			Record: *c.Before, Live: c.Live, Checkout: w.Checkouts[c.Before.Tree.Path],
			Diagnosis: plan.Diagnose(c.Before, c.Live, w),
		})
	}
	if len(pending) > 0 {
		in.Wanted, in.ByHand = pending, false
		s.Pending = pendingOf(in)
	}
	return s
}

// unrecorded returns the wanted sessions that are not in the state.
func unrecorded(st state.State, wanted []session.Spec) []session.Spec {
	return slices.DeleteFunc(slices.Clone(wanted), func(s session.Spec) bool {
		return slices.ContainsFunc(st.Sessions, func(r session.Record) bool { return r.Address == s.Address })
	})
}

// pendingOf returns what a look saw of wanted sessions that are not in the state, and
// whether apply adopts them.
func pendingOf(in plan.Input) []Pending {
	all := make([]Pending, 0, len(in.Wanted))
	for _, c := range plan.Compute(in).Changes {
		if c.Before == nil {
			all = append(all, Pending{Spec: *c.After, Live: c.Live, Checkout: in.World.Checkouts[c.After.Workspace.Path], Adopts: c.Action == plan.Adopt})
		}
	}
	return all
}
