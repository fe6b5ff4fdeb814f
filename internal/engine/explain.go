package engine

import (
	"slices"

	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Explain returns the plan with each remedy added to the detail that it belongs to.
func Explain(p plan.Plan) plan.Plan {
	p.Problems, p.Changes, p.Drift = slices.Clone(p.Problems), slices.Clone(p.Changes), slices.Clone(p.Drift)
	for i := range p.Problems {
		add(&p.Problems[i].Detail, &p.Problems[i].Remedy)
	}
	for i := range p.Changes {
		add(&p.Changes[i].Detail, &p.Changes[i].Remedy)
	}
	for i := range p.Drift {
		add(&p.Drift[i].Detail, &p.Drift[i].Remedy)
	}
	return p
}

// Diagnose returns plan.Diagnose with the remedy added to its detail.
func Diagnose(r *session.Record, l *session.Live, w session.World) plan.Diagnosis {
	d := plan.Diagnose(r, l, w)
	add(&d.Detail, &d.Remedy)
	return d
}

// add moves a remedy into the detail, so that it is there once.
func add(detail *string, r *session.Remedy) {
	*detail, *r = remedy.With(*detail, *r), session.Remedy{}
}
