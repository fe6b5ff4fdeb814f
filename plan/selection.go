package plan

import (
	"fmt"
	"slices"

	"github.com/agentform/agentform/session"
)

// selection is which sessions a plan is about: the targets and what they depend
// on, without the excluded and what depends on those. A name that fits no
// session is a problem.
func (s *scene) selection() (selected func(session.Address) bool, problems []session.Diagnostic) {
	o := s.in.Options
	for _, list := range [][]session.Address{o.Targets, o.Exclude, o.Replace, o.Restart} {
		for _, t := range list {
			if !s.known(t) {
				problems = append(problems, problem(t, ReasonNotTargeted, "no such session", fmt.Sprintf("nothing in the manifest or on record is called %s", t)))
			}
		}
	}
	if len(o.Targets) == 0 && len(o.Exclude) == 0 {
		return func(session.Address) bool { return true }, problems
	}
	in, out := map[session.Address]bool{}, map[session.Address]bool{}
	for _, a := range s.addresses() {
		if len(o.Targets) == 0 || within(a, o.Targets) {
			s.reach(a, in, s.needs)
		}
		if within(a, o.Exclude) {
			s.reach(a, out, s.dependents())
		}
	}
	selected = func(a session.Address) bool { return in[a] && !out[a] }
	for _, list := range [][]session.Address{o.Replace, o.Restart} {
		for _, t := range list {
			if s.known(t) && !slices.ContainsFunc(s.addresses(), func(a session.Address) bool { return a.Within(t) && selected(a) }) {
				problems = append(problems, problem(t, ReasonNotTargeted, "not part of this plan",
					fmt.Sprintf("%s is to start anew, and is left out: by what is targeted or excluded, or because it depends on what is", t)))
			}
		}
	}
	return selected, problems
}

func (s *scene) known(t session.Address) bool {
	for a := range s.wanted {
		if a.Within(t) {
			return true
		}
	}
	for a := range s.records {
		if a.Within(t) {
			return true
		}
	}
	return false
}

// reach marks a session and all that next leads to from it.
func (s *scene) reach(a session.Address, seen map[session.Address]bool, next func(session.Address) []session.Address) {
	if seen[a] {
		return
	}
	seen[a] = true
	for _, b := range next(a) {
		s.reach(b, seen, next)
	}
}

// needs is what a session depends on.
func (s *scene) needs(a session.Address) []session.Address {
	if w := s.wanted[a]; w != nil {
		return w.DependsOn
	}
	return nil
}

// dependents tells what depends on a session.
func (s *scene) dependents() func(session.Address) []session.Address {
	on := map[session.Address][]session.Address{}
	for a, w := range s.wanted {
		for _, b := range w.DependsOn {
			on[b] = append(on[b], a)
		}
	}
	return func(a session.Address) []session.Address { return on[a] }
}
