package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// move lays the records under the addresses that they are declared to have
// moved to.
func (s *scene) move() {
	s.moved = map[session.Address]session.Address{}
	for _, m := range s.in.Moves {
		from := make([]session.Address, 0, 1)
		_, one := m.To.Key() // what becomes an instance has no instances, also when its block has some already
		for a := range s.records {
			if a == m.From || !one && a.Within(m.From) {
				from = append(from, a)
			}
		}
		slices.SortFunc(from, session.Address.Compare)
		for _, a := range from {
			s.moveOne(a, m.To+session.Address(strings.TrimPrefix(string(a), string(m.From))))
		}
	}
}

func (s *scene) moveOne(from, to session.Address) {
	if s.records[to] != nil {
		s.problems = append(s.problems, problem(to, ReasonBlockedByError, "address is occupied",
			fmt.Sprintf("%s cannot move to %s: another session is on record there\ntake one of them off the record first: agentform state rm %s", from, to, shell(string(to)))))
		return
	}
	r := *s.records[from]
	r.Address = to
	s.records[to] = &r
	delete(s.records, from)
	first := from
	if earlier, ok := s.moved[from]; ok {
		first = earlier
		delete(s.moved, from)
	}
	s.moved[to] = first
}

// removed reports whether a removed block of the manifest names a session.
func (s *scene) removed(a session.Address) bool {
	return slices.ContainsFunc(s.in.Removed, func(r Removal) bool { return a.Within(r.From) })
}

// released reports whether the manifest says that a session is to be left alive
// when it goes off the record.
func (s *scene) released(a session.Address) bool {
	return !s.in.Options.Destroy && slices.ContainsFunc(s.in.Removed, func(r Removal) bool { return a.Within(r.From) && !r.Destroy })
}

// imported is the id of what an address is to take over.
func (s *scene) imported(a session.Address) (id string, ok bool) {
	for _, i := range s.in.Imports {
		if i.To == a {
			return i.ID, true
		}
	}
	return "", false
}

// oursAlready says why a session that is ours cannot be imported, and what gives
// it the address instead.
func (s *scene) oursAlready(c Change, id string, m session.Mark) (Change, []session.Diagnostic) {
	detail := fmt.Sprintf("%s is %s, and off the record; agentform adopt %s %s takes it back", id, m.Address, shell(string(m.Address)), shell(id))
	for a, r := range s.records {
		if r.ID == m.ID {
			detail = fmt.Sprintf("%s is %s; a moved block gives it another address", id, a)
		}
	}
	return stuck(c, []session.Diagnostic{problem(c.Address, ReasonBlockedByError, "session is ours already", detail)})
}

// takeOver decides for a live session that was started by hand and is to be
// ours from now on. It goes on undisturbed; its workspace must be what is
// declared.
func (s *scene) takeOver(c Change, id string) (Change, []session.Diagnostic) {
	fault := func(summary, detail string) (Change, []session.Diagnostic) {
		return stuck(c, []session.Diagnostic{problem(c.Address, ReasonBlockedByError, summary, detail)})
	}
	found := s.in.World.Found[id]
	switch {
	case found.Err != nil:
		return fault("nothing to import", fmt.Sprintf("%s: %v", id, found.Err))
	case found.Live == nil:
		return fault("nothing to import", id+" was not found; tmux -L SOCKET list-sessions shows what there is")
	case found.Live.Vital == session.Dead:
		return fault("nothing to import", id+": the session in it is dead")
	}
	l := *found.Live
	if !l.Foreign && l.Mark.Project == s.in.Lineage {
		return s.oursAlready(c, id, l.Mark)
	}
	w := c.After
	if l.Dir != w.Workspace.Path && !strings.HasPrefix(l.Dir, w.Workspace.Path+"/") {
		return fault("session works elsewhere",
			fmt.Sprintf("%s works in %s, the declared workspace is %s\ndeclare workspace { path = %q }", id, l.Dir, w.Workspace.Path, l.Dir))
	}
	lost := session.Record{Address: c.Address, Spec: *w, Tree: session.Tree{Path: w.Workspace.Path, Mode: w.Workspace.Mode, Repo: w.Workspace.Repo, Branch: w.Branch}}
	if _, problems := s.workspace(&lost, w, false); len(problems) > 0 {
		return stuck(c, problems)
	}
	c.Live, c.State = &l, session.StateRunning
	c.Import = id
	return act(c, Adopt, ReasonImport, "taken over as it runs: "+id), nil
}
