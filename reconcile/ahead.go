package reconcile

import (
	"context"

	"github.com/agentform/agentform/observe"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Ahead is what was asked before the manifest and the state were read, which
// takes as long as the answer, and the state that the answer is good for.
type Ahead struct {
	asked   *observe.Asked
	lineage string
	serial  uint64
}

// Begin begins to look at what most projects have: tmux. It does not wait, and
// is of use to one Plan of this Reconciler, if nobody writes the state
// meanwhile. Canceling the context ends it.
func (r *Reconciler) Begin(ctx context.Context) *Ahead {
	return r.ask(ctx, []session.Spec{{Runtime: session.RuntimeSpec{Kind: "tmux"}}})
}

// ask begins to ask the runtimes of the wanted sessions.
func (r *Reconciler) ask(ctx context.Context, wanted []session.Spec) *Ahead {
	lineage, err := state.Lineage(r.StatePath, r.Applier.OutputsDir)
	if err != nil {
		return nil // reading the state will say so
	}
	serial, err := state.Serial(r.StatePath)
	if err != nil {
		return nil
	}
	eyes := r.Eyes
	eyes.Runtime = r.runtimes(lineage)
	return &Ahead{eyes.Ask(ctx, wanted, false), lineage, serial}
}

// of is what was asked, if the state has not changed since; else nothing.
func (a *Ahead) of(st state.State) *observe.Asked {
	if a == nil || a.lineage != st.Lineage || a.serial != st.Serial {
		return nil
	}
	return a.asked
}
