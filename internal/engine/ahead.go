package engine

import (
	"context"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// ahead is what was asked before the state was read, and the state that the answer is
// good for.
type ahead struct {
	asked   *Asked
	lineage string
	serial  uint64
}

// ask begins to ask the runtimes of the wanted sessions.
func (r *Reconciler) ask(ctx context.Context, wanted []session.Spec) *ahead {
	lineage, err := state.Lineage(r.StatePath, r.Applier.OutputsDir)
	if err != nil {
		return nil // reading the state will say so
	}
	serial, err := state.Serial(r.StatePath)
	if err != nil {
		return nil
	}
	eyes := r.Observer
	eyes.Runtime = r.runtimes(lineage)
	return &ahead{eyes.Ask(ctx, wanted, false), lineage, serial}
}

// of is what was asked, if the state has not changed since; else nothing.
func (a *ahead) of(st state.State) *Asked {
	if a == nil || a.lineage != st.Lineage || a.serial != st.Serial {
		return nil
	}
	return a.asked
}
