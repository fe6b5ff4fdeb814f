package reconcile

import (
	"context"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Status is what is on record beside what is live.
type Status struct {
	State    state.State
	World    session.World
	Sessions []Seen // on record, in the order of addresses
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

// Status looks, without a lock, at every recorded session, with its screen if
// that is wanted. The error says that the state cannot be read.
func (r *Reconciler) Status(ctx context.Context, screens bool) (Status, error) {
	st, err := r.read()
	if err != nil {
		return Status{}, err
	}
	specs := make([]session.Spec, len(st.Sessions))
	for i, rec := range st.Sessions {
		specs[i] = rec.Spec
	}
	q := Request{Wanted: specs}
	w := r.look(ctx, st, q, screens, nil)
	p := plan.Compute(plan.Input{Now: w.At, Project: r.Project, Lineage: st.Lineage, Serial: st.Serial,
		Wanted: specs, Records: st.Sessions, World: w, ByHand: true})
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
	return s, nil
}
