package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// scene is the input laid out by address: what is wanted, what is on record and
// what is live of each session.
type scene struct {
	in      Input
	wanted  map[session.Address]*session.Spec
	records map[session.Address]*session.Record
	lives   map[session.Address]*session.Live
	// ambiguous addresses have several live objects of which none is on record.
	ambiguous map[session.Address][]session.Live
	orphans   []session.Live
	moved     map[session.Address]session.Address // new to old
	problems  []session.Diagnostic
	foreign   map[string]session.Live // by outside name
}

func lay(in Input) *scene {
	s := &scene{
		in:        in,
		wanted:    make(map[session.Address]*session.Spec, len(in.Wanted)),
		records:   make(map[session.Address]*session.Record, len(in.Records)),
		lives:     make(map[session.Address]*session.Live, len(in.World.Lives)),
		ambiguous: map[session.Address][]session.Live{},
		foreign:   map[string]session.Live{},
	}
	for i := range in.Wanted {
		s.wanted[in.Wanted[i].Address] = &in.Wanted[i]
	}
	for i := range in.Records {
		s.records[in.Records[i].Address] = &in.Records[i]
	}
	s.move()
	s.match()
	return s
}

// match finds the live object of each session. The recorded run is the one that
// counts; another object of ours is an orphan beside it. Of a session that is
// not on record there may be only one, else nobody can say which to keep.
func (s *scene) match() {
	byAddress := map[session.Address][]session.Live{}
	recorded := make(map[string]session.Address, len(s.records))
	for a, r := range s.records {
		recorded[r.ID] = a
	}
	for _, l := range s.in.World.Lives {
		if l.Foreign || l.Mark.Project != s.in.Lineage {
			s.foreign[l.Place.Name] = l
			continue
		}
		a, ok := recorded[l.Mark.ID] // a session that was moved still bears its old address
		if !ok {
			a = l.Mark.Address
		}
		if l.Copied {
			s.orphans = append(s.orphans, l)
			continue
		}
		byAddress[a] = append(byAddress[a], l)
	}
	for a, lives := range byAddress {
		r, w := s.records[a], s.wanted[a]
		sortLives(lives, r)
		keep := -1
		if r != nil {
			keep = slices.IndexFunc(lives, func(l session.Live) bool { return l.Mark.Run == r.Run.ID })
		}
		if keep < 0 && len(lives) == 1 && s.belongs(lives[0], r, w) {
			keep = 0
		}
		if keep < 0 && len(lives) > 1 && (r != nil || w != nil) {
			s.ambiguous[a] = lives
			continue
		}
		for i, l := range lives {
			if i == keep {
				s.lives[a] = &lives[i]
			} else {
				s.orphans = append(s.orphans, l)
			}
		}
	}
}

// belongs tells whether the only live object of an address is the session, though
// its run is not the one on record. Without a record it is, when the session is
// wanted: its state was lost. With one it is another run of the same session: an
// older state was restored, or an action was interrupted. Of a session that was
// brought to a stop it is a leftover that nobody asked to touch.
func (s *scene) belongs(l session.Live, r *session.Record, w *session.Spec) bool {
	if r == nil {
		return w != nil && !s.in.ByHand
	}
	return l.Mark.ID == r.ID && (standing(*r) != session.Stopped || r.Intent != session.Settled)
}

// sortLives puts the one at the recorded place first: a mark can be copied, and
// of two objects that claim one run the recorded place is the true one.
func sortLives(lives []session.Live, r *session.Record) {
	slices.SortFunc(lives, func(a, b session.Live) int {
		if r != nil && a.Place != b.Place {
			if a.Place == r.Place {
				return -1
			}
			if b.Place == r.Place {
				return 1
			}
		}
		return cmp.Or(strings.Compare(a.Place.Socket, b.Place.Socket), strings.Compare(a.Place.Name, b.Place.Name),
			strings.Compare(a.Place.Container, b.Place.Container), strings.Compare(a.Mark.Run, b.Mark.Run))
	})
}

// taken returns what has the session's outside name, where the session cannot be made
// beside it. Beside a session of another agentform project it gets another name.
func (s *scene) taken(a session.Address) (session.Live, bool) {
	l, ok := s.foreign[a.OutsideName(s.in.Project)]
	return l, ok && (l.Mark.Project == "" || l.Spec != nil)
}

func (s *scene) ambiguity(a session.Address) (session.Diagnostic, bool) {
	lives, ok := s.ambiguous[a]
	if !ok {
		return session.Diagnostic{}, false
	}
	detail := "none of them is the recorded run, so it cannot be told which one to keep:"
	for _, l := range lives {
		detail += fmt.Sprintf("\n  %s, run %s", where(l.Place), l.Mark.Run)
	}
	return problem(a, ReasonAmbiguous, "two live sessions carry this address", detail+"\nend the one that is not needed and plan again"), true
}

// where is a place as a person finds it.
func where(p session.Place) string {
	if p.Container != "" {
		return "container " + p.Name
	}
	return "tmux session " + p.Name + " on " + p.Socket
}

// outside is a place as adopt is told of it.
func outside(p session.Place) string {
	if p.Container != "" {
		return "docker:" + p.Name
	}
	return "tmux:" + p.Socket + "/" + p.Name
}

func problem(a session.Address, r Reason, summary, detail string) session.Diagnostic {
	return session.Diagnostic{Code: string(r), Severity: session.Error, Summary: summary, Detail: detail, Address: a}
}
