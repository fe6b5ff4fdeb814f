package plan

import (
	"maps"
	"slices"

	"github.com/agentform/agentform/session"
)

// Compute decides what to do with each session. It never fails: what cannot be decided is a
// Problem of one session, and the others are planned.
func Compute(in Input) Plan {
	if in.Options.Destroy {
		in.Wanted = nil
	}
	j := newJoin(in)
	p := Plan{
		Project: in.Project, Lineage: in.Lineage, Serial: in.Serial, At: in.Now,
		Options: in.Options, Moves: in.Moves, Removed: in.Removed, Imports: in.Imports, Complete: true,
	}
	selected, problems := selection(j)
	p.Problems = slices.Concat(j.problems, problems)
	for _, key := range slices.Sorted(maps.Keys(in.World.Runtimes)) {
		if err := in.World.Runtimes[key]; err != nil && concerns(j, key, selected) {
			p.Complete = false
			p.Problems = append(p.Problems, session.Diagnostic{Severity: session.Error,
				Summary: "cannot reach " + key,
				Detail:  err.Error() + "\nits sessions are unknown; no changes are planned for them"})
		}
	}
	for _, a := range j.addresses {
		if !selected(a) {
			p.Changes = append(p.Changes, j.base(a, ReasonNotTargeted))
			continue
		}
		c, problems := decide(j, a)
		if in.Options.RefreshOnly {
			c.Action, c.Then, c.Fields = None, "", nil
			if c.Reason != ReasonUnderWay && c.Reason != ReasonElsewhere { // those were not compared
				c.Reason = ReasonRefreshOnly
			}
		}
		p.Changes = append(p.Changes, c)
		p.Problems = append(p.Problems, problems...)
	}
	holdStarts(j, &p)
	noteInterrupts(j, p.Changes)
	p.Problems = append(p.Problems, unobserved(in.World, p.Changes)...)
	if in.Hub == nil {
		p.Problems = append(p.Problems, sharedDirectories(p.Changes)...)
		p.Problems = append(p.Problems, losing(p.Changes)...)
	}
	p.Drift = drift(j, selected)
	return p
}

// concerns reports whether a plan is about what an engine has: always, unless it has targets.
func concerns(j *join, engine string, selected func(session.Address) bool) bool {
	return len(j.in.Options.Targets) == 0 || slices.ContainsFunc(j.addresses, func(a session.Address) bool {
		c := j.base(a, ReasonInSync)
		has := c.Before != nil && c.Before.Spec.Runtime.Engine() == engine || c.After != nil && c.After.Runtime.Engine() == engine
		return has && selected(a)
	})
}
