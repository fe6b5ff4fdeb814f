package engine

import (
	"context"
	"slices"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// decide computes the plan for a request. If the plan depends on what agents do, or
// interrupts one, their screens and session files are read first.
func (e *Engine) decide(ctx context.Context, st state.State, w session.World, q Request, byHand bool) plan.Plan {
	in := e.input(st, w, q.Wanted)
	in.ByHand, in.Options, in.Moves, in.Removed, in.Imports = byHand, q.Options, q.Moves, q.Removed, q.Imports
	p := Explain(compute(e, &in))
	if asked := p.Asks(); e.Activity != nil && len(asked) > 0 {
		in.Doing = e.doing(ctx, st, w, asked)
		p = Explain(compute(e, &in))
	}
	if e.Quotas != nil && p.MayStart() {
		if spent := e.Quotas(w.At); len(spent) > 0 {
			p.Problems = append(p.Problems, plan.WarnLimited(p.Changes, spent, e.Applier.Credentials(p))...)
		}
	}
	return p
}

// compute returns the plan for its input. If something is to be started, it looks for agents
// that are not in the state first.
func compute(e *Engine, in *plan.Input) plan.Plan {
	p := plan.Compute(*in)
	if e.Observer.Strays == nil || in.World.Strays != nil || !p.MayStart() {
		return p
	}
	recorded := make(map[string]bool, len(in.Records))
	note := func(records []session.Record) {
		for _, r := range records {
			recorded[r.Run.ID] = true
		}
	}
	note(in.Records)
	found := e.Observer.Strays(func(run string) bool { return recorded[run] })
	if len(found) > 0 {
		// They may have been started since the state was read, and are in it then.
		if st, err := state.Read(e.StatePath); err == nil {
			note(st.Sessions)
		}
		found = slices.DeleteFunc(found, func(s session.Stray) bool { return recorded[s.Run] })
	}
	if in.World.Strays = found; len(found) == 0 {
		return p
	}
	namePlaces(found, in.Wanted)
	return plan.Compute(*in)
}

// namePlaces gives agents that work in the workspace of a wanted session, through a link or a bind
// mount, its path as their directory.
func namePlaces(found []session.Stray, wanted []session.Spec) {
	paths := map[string]string{}
	for _, s := range wanted {
		if place := fileid.Place(s.Workspace.Path); place != "" && s.Runtime.Traits().HostFiles {
			paths[place] = s.Workspace.Path
		}
	}
	for i, s := range found {
		for _, dir := range []string{s.Dir, proc.Dir(s.Process.PID)} {
			if path := paths[fileid.Place(dir)]; path != "" {
				found[i].Dir = path
			}
		}
	}
}

// addTexts adds to a plan the texts of recorded prompts that it changes, to show them.
func addTexts(p *plan.Plan, kept apply.Blobs) {
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Before == nil || c.After == nil || c.Before.Spec.Prompt.Digest == "" || c.Before.Spec.Prompt.Digest == c.After.Prompt.Digest {
			continue
		}
		if text, err := kept.Get(c.Before.Spec.Prompt.Digest); err == nil {
			before := *c.Before
			before.Spec.Prompt.Text = text
			c.Before = &before
		}
	}
}

// input returns the input of a plan for the wanted sessions.
func (e *Engine) input(st state.State, w session.World, wanted []session.Spec) plan.Input {
	return plan.Input{Now: w.At, Project: e.Project, Lineage: st.Lineage, Serial: st.Serial,
		Wanted: wanted, Records: st.Sessions, World: w}
}

// doing reads what the agents of some recorded sessions do. A runtime that does not
// answer shows no screens.
func (e *Engine) doing(ctx context.Context, st state.State, w session.World, asked map[session.Address]bool) map[session.Address]session.Doing {
	lives, o := byRun(w), e.observer(st, Request{})
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
					at.Screen, at.Blank, at.Title, at.MovedAt = l.Screen, l.Blank, l.Title, l.MovedAt
				}
			}
		}
		live := lives[rec.Run.ID]
		past, _ := history.Read(e.Applier.Folder(rec), time.Time{}) // without it the session file and the screen tell
		moved, alive := time.Time{}, false
		if live != nil {
			moved, alive = live.MovedAt, live.Liveness == session.Alive
		}
		look := e.Activity.Look(rec, live, past, w.At)
		found[rec.Address] = activity.DoingOf(turn.Once(activity.TurnLook(rec, look, alive, moved, past, w.At)), rec, look, past)
	}
	return found
}

// Explain returns the plan with each remedy moved into the detail that it belongs to.
func Explain(p plan.Plan) plan.Plan {
	p.Problems, p.Changes, p.Drift = slices.Clone(p.Problems), slices.Clone(p.Changes), slices.Clone(p.Drift)
	for i := range p.Problems {
		explain(&p.Problems[i].Detail, &p.Problems[i].Remedy)
	}
	for i := range p.Changes {
		explain(&p.Changes[i].Detail, &p.Changes[i].Remedy)
	}
	for i := range p.Drift {
		explain(&p.Drift[i].Detail, &p.Drift[i].Remedy)
	}
	return p
}

// Diagnose returns plan.Diagnose with the remedy moved into its detail.
func Diagnose(r *session.Record, l *session.Live, w session.World) plan.Diagnosis {
	d := plan.Diagnose(r, l, w)
	explain(&d.Detail, &d.Remedy)
	return d
}

func explain(detail *string, r *session.Remedy) {
	*detail, *r = remedy.With(*detail, *r), session.Remedy{}
}
