package engine

import (
	"context"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// decide computes the plan for a request. If the plan depends on what agents do, or
// interrupts one, their screens and session files are read first.
func (e *Engine) decide(ctx context.Context, st state.State, w session.World, q Request, byHand bool) plan.Plan {
	in := plan.Input{
		Now: w.At, Project: e.Project, Lineage: st.Lineage, Serial: st.Serial,
		Wanted: q.Wanted, Records: st.Sessions, World: w, ByHand: byHand, Options: q.Options,
		Moves: q.Moves, Removed: q.Removed, Imports: q.Imports,
	}
	p := Explain(plan.Compute(in))
	asked := p.Asks()
	if e.Activity == nil || len(asked) == 0 {
		return p
	}
	in.Doing = e.doing(ctx, st, w, asked)
	return Explain(plan.Compute(in))
}

// doing reads what the agents of some recorded sessions do. An engine that does not
// answer shows no screens.
func (e *Engine) doing(ctx context.Context, st state.State, w session.World, asked map[session.Address]bool) map[session.Address]session.Doing {
	lives := map[string]*session.Live{}
	for i := range w.Lives {
		lives[w.Lives[i].Mark.Run] = &w.Lives[i]
	}
	o := e.observer(st, Request{})
	read := map[string]bool{}
	found := make(map[session.Address]session.Doing, len(asked))
	for _, rec := range st.Sessions {
		if !asked[rec.Address] || rec.Run.ID == "" {
			continue
		}
		if engine := rec.Spec.Runtime.Engine(); !read[engine] {
			read[engine] = true
			shown, _ := o.ask(ctx, rec.Spec.Runtime, true)()
			for _, l := range shown {
				if at := lives[l.Mark.Run]; at != nil {
					at.Screen, at.Title = l.Screen, l.Title
				}
			}
		}
		live := lives[rec.Run.ID]
		past, _ := history.Read(e.Applier.Folder(rec), time.Time{}) // without it the session file and the screen tell
		moved := time.Time{}
		if live != nil {
			moved = live.MovedAt
		}
		look := e.Activity.Look(rec, live, past, w.At)
		found[rec.Address] = activity.DoingOf(rec, look, moved, past, w.At)
	}
	return found
}
