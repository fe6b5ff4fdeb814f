package plan

import (
	"fmt"
	"slices"

	"github.com/agentform/agentform/session"
)

// selection returns which sessions the plan is about. A name that fits none is a problem.
func selection(j *join) (selected func(session.Address) bool, problems []session.Diagnostic) {
	o := j.in.Options
	for _, t := range slices.Concat(o.Targets, o.Exclude, o.Replace, o.Restart) {
		if !j.known(t) {
			problems = append(problems, problem(t, ReasonNotTargeted, "no such session", fmt.Sprintf("nothing in the manifest or the state is named %s", t)))
		}
	}
	if len(o.Targets) == 0 && len(o.Exclude) == 0 {
		return func(session.Address) bool { return true }, problems
	}
	dependents := map[session.Address][]session.Address{}
	for a, w := range j.wanted {
		for _, b := range w.DependsOn {
			dependents[b] = append(dependents[b], a)
		}
	}
	in, out := map[session.Address]bool{}, map[session.Address]bool{}
	for _, a := range j.addresses {
		if len(o.Targets) == 0 || within(a, o.Targets) {
			reach(a, in, j.needs)
		}
		if within(a, o.Exclude) {
			reach(a, out, func(a session.Address) []session.Address { return dependents[a] })
		}
	}
	selected = func(a session.Address) bool { return in[a] && !out[a] }
	for _, t := range slices.Concat(o.Replace, o.Restart) {
		if j.known(t) && !slices.ContainsFunc(j.addresses, func(a session.Address) bool { return a.Within(t) && selected(a) }) {
			problems = append(problems, problem(t, ReasonNotTargeted, "not part of this plan",
				fmt.Sprintf("%s was to be replaced, but is left out: by --target or --exclude, or because it depends on what is", t)))
		}
	}
	return selected, problems
}

// reach marks a session and everything that next leads to from it.
func reach(a session.Address, seen map[session.Address]bool, next func(session.Address) []session.Address) {
	if seen[a] {
		return
	}
	seen[a] = true
	for _, b := range next(a) {
		reach(b, seen, next)
	}
}

func within(a session.Address, targets []session.Address) bool {
	return slices.ContainsFunc(targets, a.Within)
}
