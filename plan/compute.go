package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentform/agentform/session"
)

// Compute decides what is to be done. It is pure: the same input gives the same
// plan, in whatever order its parts come. It never fails: what cannot be
// decided is a Problem, and its session is left as it is while the others are
// planned.
func Compute(in Input) Plan {
	if in.Options.Destroy {
		in.Wanted = nil
	}
	s := lay(in)
	p := Plan{
		Project: in.Project, Lineage: in.Lineage, Serial: in.Serial, At: in.Now,
		Options: in.Options, Moves: in.Moves, Removed: in.Removed, Imports: in.Imports, Complete: true,
	}
	selected, problems := s.selection()
	p.Problems = append(append(p.Problems, s.problems...), problems...)
	for _, key := range slices.Sorted(maps.Keys(in.World.Runtimes)) {
		if err := in.World.Runtimes[key]; err != nil {
			p.Complete = false
			p.Problems = append(p.Problems, session.Diagnostic{Severity: session.Error,
				Summary: key + " could not be looked at",
				Detail:  err.Error() + "\nits sessions are unknown, not dead: nothing is planned for them"})
		}
	}
	for _, a := range s.addresses() {
		if !selected(a) {
			p.Changes = append(p.Changes, Change{Address: a, Action: None, Reason: ReasonNotTargeted,
				Before: s.records[a], After: s.wanted[a], Live: s.lives[a], Moved: s.moved[a]})
			continue
		}
		c, problems := s.decide(a)
		if in.Options.RefreshOnly {
			c.Action, c.Then, c.Fields, c.Reason = None, "", nil, ReasonRefreshOnly
		}
		p.Changes = append(p.Changes, c)
		p.Problems = append(p.Problems, problems...)
	}
	s.hold(&p)
	s.interrupts(p.Changes)
	p.Problems = append(p.Problems, s.unobserved(p.Changes)...)
	p.Problems = append(p.Problems, s.shared(p.Changes)...)
	p.Drift = s.drift(selected)
	return p
}

// decide applies the decision table to one session.
func (s *scene) decide(a session.Address) (Change, []session.Diagnostic) {
	c := Change{Address: a, Action: None, Reason: ReasonInSync, Before: s.records[a], After: s.wanted[a], Live: s.lives[a], Moved: s.moved[a]}
	if c.Before != nil && c.After != nil {
		c.After = keepIgnored(&c.Before.Spec, c.After)
	}
	d := Diagnose(c.Before, c.Live, s.in.World)
	c.State, c.Detail = d.State, d.Detail
	if d.Reason == ReasonElsewhere {
		return s.seenElsewhere(c, d)
	}
	if problem, ok := s.ambiguity(a); ok {
		c.Reason, c.Detail = ReasonAmbiguous, problem.Summary
		return c, []session.Diagnostic{problem}
	}
	if d.State == session.StateUnknown && !s.endable(c) && !s.lost(c) || c.Before == nil && s.unreachable(*c.After) {
		c.State, c.Reason = session.StateUnknown, ReasonUnreachable
		return c, s.outOfSight(c)
	}
	switch {
	case c.Before == nil:
		return s.fresh(c, d)
	case c.After == nil:
		return s.unwanted(c)
	}
	c, problems := s.kept(c, d)
	if busy := atWork(c.Before, s.in.World); busy != "" && c.Reason == ReasonInterrupted {
		c.Reason, c.Detail = ReasonUnderWay, busy
	}
	return c, problems
}

// endable reports whether a session of which nothing can be told is to be ended, and
// can be: a person says so, and a container that is there can be killed whatever
// answers in it.
func (s *scene) endable(c Change) bool {
	if c.Before == nil || c.Live == nil || !c.Live.PlaceUp || c.Live.Place.Container == "" || s.in.Hub != nil {
		return false
	}
	return s.toEnd(c) || within(c.Address, s.in.Options.Restart) || within(c.Address, s.in.Options.Replace)
}

// lost reports whether nothing of a session can be found but the process of its agent.
// It can be ended by that, and nothing else is done with it. Where tmux does not answer,
// only someone who says so ends it.
func (s *scene) lost(c Change) bool {
	if c.Live != nil || !s.agentRuns(c.Before) {
		return false
	}
	return !s.unreachable(c.Before.Spec) || c.Before.Spec.Runtime.Kind == "tmux" && s.in.Hub == nil && s.toEnd(c)
}

// toEnd reports whether someone wants the session ended.
func (s *scene) toEnd(c Change) bool {
	return c.After == nil || s.in.ByHand && within(c.Address, s.in.Options.Targets) && standing(*c.Before) == session.Stopped
}

// outOfSight is the problem of a session that is to be destroyed and of which nothing
// can be told, though its engine answers: that none does is a problem already.
func (s *scene) outOfSight(c Change) []session.Diagnostic {
	if c.After != nil || s.in.ByHand || s.unreachable(c.Before.Spec) || c.Before.Origin != session.FromManifest && !s.in.Options.Destroy {
		return nil
	}
	return []session.Diagnostic{problem(c.Address, ReasonUnreachable, "its state is unknown, so it is not destroyed", c.Detail)}
}

func (s *scene) unreachable(w session.Spec) bool {
	err, asked := s.in.World.Runtimes[w.Runtime.Engine()]
	return err != nil || !asked
}

// fresh decides for a session that is wanted and not on record.
func (s *scene) fresh(c Change, d Diagnosis) (Change, []session.Diagnostic) {
	if c.Live != nil {
		return s.adopt(c, d)
	}
	if id, ok := s.imported(c.Address); ok {
		return s.takeOver(c, id)
	}
	if c.After.Desired == session.Stopped {
		c.Reason, c.State, c.Detail = ReasonStop, session.StateStopped, "wanted stopped: it is made when it is started"
		return c, nil
	}
	if problems := s.creatable(c.After); len(problems) > 0 {
		return stuck(c, problems)
	}
	c.Action, c.Reason, c.Detail = Create, ReasonNew, ""
	c.Fields = made(c.After)
	c.Then = thenPause(c.After.Desired)
	return c, nil
}

// adopt decides for a live session of ours whose record was lost. What it was
// launched with stands in its run's folder; where it cannot be read, the
// session is taken to be what is wanted: a guess never restarts anything.
func (s *scene) adopt(c Change, d Diagnosis) (Change, []session.Diagnostic) {
	c.Action, c.Reason, c.Detail = Adopt, ReasonAdopt, "found alive, and ours, but not on record"
	spec := c.Live.Spec
	if spec == nil {
		spec = c.After
	}
	lost := session.Record{
		ID: c.Live.Mark.ID, Address: c.Address, Spec: *spec, Place: c.Live.Place,
		Run:  session.Run{ID: c.Live.Mark.Run, BootID: s.in.World.BootID},
		Tree: session.Tree{Path: spec.Workspace.Path, Mode: spec.Workspace.Mode, Repo: spec.Workspace.Repo, Branch: spec.Branch},
	}
	found := c
	found.Action, found.Before = None, &lost
	next, problems := s.kept(found, d)
	if len(problems) > 0 {
		next.Before = nil
		return next, problems
	}
	c.Fields, c.Fresh = next.Fields, next.Fresh
	if next.Action.Acts() {
		c.Then, c.Detail = next.Action, c.Detail+"; then "+string(next.Action)+": "+next.Detail
	}
	return c, nil
}

// unwanted decides for a record that the manifest no longer has.
func (s *scene) unwanted(c Change) (Change, []session.Diagnostic) {
	r := c.Before
	if s.in.ByHand || r.Origin != session.FromManifest && !s.in.Options.Destroy {
		return c, nil
	}
	if s.released(c.Address) {
		return act(c, Forget, ReasonRemoved, "taken off the record, and left alive"), nil
	}
	reason := ReasonNotWanted
	c.Detail = "no longer in the manifest"
	if s.in.Options.Destroy {
		reason, c.Detail = ReasonDestroy, ""
	}
	if r.Spec.Lifecycle.PreventDestroy {
		return stuck(c, []session.Diagnostic{prevented(c.Address, "destroyed")})
	}
	if !s.in.Options.Destroy && !s.removed(c.Address) && !within(c.Address, s.in.Options.Targets) {
		if next := s.successor(r); next != "" { // which says what to do
			c.Reason, c.Detail = ReasonBranchHeld, fmt.Sprintf("left as it is: %s is to have its branch or its workspace, and cannot start", next)
			return c, nil
		}
	}
	c.Action, c.Reason = Delete, reason
	checkout := s.in.World.Checkouts[r.Tree.Path]
	if c.Live == nil && !s.agentRuns(r) && !s.removable(r) {
		c.Action, c.Reason = Forget, ReasonForget
		c.Detail = "nothing of it is left but its record"
		if checkout.Exists && r.Tree.Created {
			c.Detail += "; its workspace " + r.Tree.Path + " stays"
		}
	}
	return c, nil
}

func prevented(a session.Address, what string) session.Diagnostic {
	return problem(a, ReasonPreventDestroy, "session may not be "+what, "its lifecycle says prevent_destroy = true; take that out first, and apply")
}

// stuck leaves a session as it is because of problems.
func stuck(c Change, problems []session.Diagnostic) (Change, []session.Diagnostic) {
	c.Action, c.Then, c.Fields = None, "", nil
	c.Reason, c.Detail = Reason(problems[0].Code), problems[0].Summary
	return c, problems
}

func thenPause(d session.Desired) Action {
	if d == session.Paused {
		return Pause
	}
	return ""
}

// addresses is every session that is wanted or on record, in order.
func (s *scene) addresses() []session.Address {
	all := make([]session.Address, 0, len(s.wanted)+len(s.records))
	for a := range s.wanted {
		all = append(all, a)
	}
	for a := range s.records {
		if s.wanted[a] == nil {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, session.Address.Compare)
	return all
}
