package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
)

type declared struct {
	l      *loader
	blocks map[string]*instances
	all    map[session.Address]*instance
}

func declaredSessions(l *loader, blocks map[string]*instances) declared {
	all := map[session.Address]*instance{}
	for _, in := range blocks {
		for i := range in.list {
			all[in.list[i].address] = &in.list[i]
		}
	}
	return declared{l, blocks, all}
}

func (s declared) has(a session.Address) bool {
	in := s.all[a]
	return in != nil && !in.off
}

// any reports whether an address, or an instance of its block, is declared and enabled.
func (s declared) any(a session.Address) bool {
	if _, keyed := a.Key(); keyed || s.has(a) {
		return s.has(a)
	}
	in := s.blocks[a.Block()]
	return in != nil && slices.ContainsFunc(in.list, func(i instance) bool { return !i.off })
}

// unclear reports whether the instances of a block are unknown.
func (s declared) unclear(a session.Address) bool {
	in := s.blocks[a.Block()]
	return in != nil && in.failed
}

func (s declared) at(a session.Address) string {
	blocks := s.l.blocks["session"]
	return expr.Place(blocks[slices.IndexFunc(blocks, func(b *expr.Block) bool { return b.Labels[0] == a.Block() })].Def)
}

func readAddressBlocks(l *loader, m *Manifest, all map[string]*instances) {
	s := declaredSessions(l, all)
	moves := readMoves(l, s)
	m.Removed = readRemoved(l, s, moves)
	m.Imports = readImports(l, s)
	for _, v := range inOrder(l, moves) {
		m.Moves = append(m.Moves, v.Move)
	}
}

type move struct {
	Move
	from, to *expr.Attr
}

func readMoves(l *loader, s declared) []*move {
	var list []*move
	from, to := map[session.Address]*move{}, map[session.Address]*move{}
	for _, b := range l.blocks["moved"] {
		eachOf(l, b, func(d reader) {
			f, ok1 := addressOf(d, b, "from")
			t, ok2 := addressOf(d, b, "to")
			if !ok1 || !ok2 {
				return
			}
			v := &move{Move: Move{From: f, To: t, Range: rangeOf(b.Def)}, from: b.Attr("from"), to: b.Attr("to")}
			_, keyed := v.To.Key()
			switch {
			case v.From == v.To:
				d.Fail(v.to, "Moved to itself", "%s is moved to itself.", v.From)
				return
			case from[v.From] != nil:
				d.Fail(v.from, "Moved twice", "%s is already moved to %s at %s.", v.From, from[v.From].To, expr.Place(from[v.From].from.Range))
				return
			case to[v.To] != nil:
				d.Fail(v.to, "Two moves to one address", "%s already gets %s at %s.", v.To, to[v.To].From, expr.Place(to[v.To].to.Range))
				return
			case s.unclear(v.From) || s.unclear(v.To):
			case s.has(v.From) || !keyed && s.any(v.From):
				d.Fail(v.from, "Moved and still declared", "%s is still declared at %s, so its session cannot move. Remove one of the two.", v.From, s.at(v.From))
				return
			}
			from[v.From], to[v.To] = v, v
			list = append(list, v)
		})
	}
	for _, v := range list {
		if from[v.To] == nil && !s.any(v.To) && !s.unclear(v.To) && !s.off(v.To) {
			l.Warn(v.to.Expr.Range(), "Moved to an undeclared session", "%s is not declared, so the session moved there is destroyed.%s", v.To, expr.DidYouMean(v.To.Block(), l.known.sessions))
		}
	}
	return list
}

func (s declared) off(a session.Address) bool {
	in := s.all[a]
	return in != nil && in.off
}

// inOrder sorts moves: an address is left before it is moved to. It reports cycles.
func inOrder(l *loader, list []*move) (sorted []*move) {
	by := map[session.Address]*move{}
	for _, v := range list {
		by[v.To] = v
	}
	w := walk[*move, *move]{
		edges: func(v *move) []*move {
			if before := by[v.From]; before != nil {
				return []*move{before}
			}
			return nil
		},
		to:    func(v *move) *move { return v },
		leave: func(v *move) { sorted = append(sorted, v) },
		cycle: func(steps []step[*move, *move]) {
			steps = slices.Clone(steps)
			slices.Reverse(steps)
			var b strings.Builder
			for _, s := range steps {
				fmt.Fprintf(&b, "\n  %s is moved to %s at %s", s.from.From, s.from.To, expr.Place(s.from.from.Range))
			}
			l.Fail(steps[0].from.from.Range, "Moves in a cycle", "These moves form a cycle:%s", b.String())
		},
	}
	for _, v := range list {
		w.visit(v)
	}
	return sorted
}

func readRemoved(l *loader, s declared, moves []*move) []Removal {
	var list []Removal
	seen, moved := map[session.Address]hcl.Range{}, map[session.Address]*move{}
	for _, v := range moves {
		moved[v.From] = v
	}
	for _, b := range l.blocks["removed"] {
		eachOf(l, b, func(d reader) {
			r := Removal{Destroy: true, Range: rangeOf(b.Def)}
			d.Flag(b, "destroy", &r.Destroy)
			var ok bool
			if r.From, ok = addressOf(d, b, "from"); !ok {
				return
			}
			from := b.Attr("from")
			first, twice := seen[r.From]
			v := moved[r.From]
			switch {
			case twice:
				d.Fail(from, "Removed twice", "%s is already removed at %s.", r.From, expr.Place(first))
				return
			case v != nil:
				d.Fail(from, "Moved and removed", "%s is moved to %s at %s; remove one of the two.", r.From, v.To, expr.Place(v.from.Range))
				return
			case !s.unclear(r.From) && s.any(r.From):
				d.Fail(from, "Removed and still declared", "%s is still declared at %s. Remove one of the two.", r.From, s.at(r.From))
				return
			}
			seen[r.From] = from.Range
			list = append(list, r)
		})
	}
	return list
}

// tmuxID matches a socket and a session. Names of tmux sessions have no dot or colon, and do
// not begin like an id or an exact match.
var tmuxID = regexp.MustCompile(`^tmux:(?:[^/.-][^/]*|/.*[^/])/[^.:/$@%=][^.:/]*$`)

var dockerID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^docker:[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$`)
})

func readImports(l *loader, s declared) []Import {
	var list []Import
	tos, ids := map[session.Address]hcl.Range{}, map[string]hcl.Range{}
	for _, b := range l.blocks["import"] {
		eachOf(l, b, func(d reader) {
			im := Import{Range: rangeOf(b.Def)}
			var ok bool
			im.To, ok = addressOf(d, b, "to")
			switch {
			case !d.Word(b, "id", &im.ID):
				d.Require(b, "id", `id = "tmux:SOCKET/SESSION" or "docker:CONTAINER"`)
				return
			case !dockerID().MatchString(im.ID) && (!tmuxID.MatchString(im.ID) || strings.ContainsFunc(im.ID, unicode.IsControl)):
				d.Fail(b.Attr("id"), "Invalid import", `%q cannot be imported, use "tmux:SOCKET/SESSION", with the socket's name or absolute path, or "docker:CONTAINER".`, expr.Cut(im.ID))
				return
			case !ok:
				return
			}
			if why := s.lacks(im.To); why != "" {
				d.Fail(b.Attr("to"), "Import to an undeclared session", "%s", why)
				return
			}
			if first, twice := tos[im.To]; twice {
				d.Fail(b.Attr("to"), "Two imports to one address", "%s is already imported at %s.", im.To, expr.Place(first))
				return
			}
			if first, twice := ids[im.ID]; twice {
				d.Fail(b.Attr("id"), "Imported twice", "%q is already imported at %s.", im.ID, expr.Place(first))
				return
			}
			tos[im.To], ids[im.ID] = b.Attr("to").Range, b.Attr("id").Range
			list = append(list, im)
		})
	}
	return list
}

func (s declared) lacks(a session.Address) string {
	in := s.blocks[a.Block()]
	switch {
	case s.has(a) || s.unclear(a):
		return ""
	case s.off(a):
		return fmt.Sprintf("%s is not enabled.", a)
	case in == nil:
		return fmt.Sprintf("There is no session named %q; declare it in a session block.%s", a.Block(), expr.DidYouMean(a.Block(), s.l.known.sessions))
	case in.single:
		return fmt.Sprintf("session.%s has neither for_each nor count, so it has no instances; write session.%s.", a.Block(), a.Block())
	case len(in.list) == 0:
		return fmt.Sprintf("session.%s has no instances.", a.Block())
	}
	if _, keyed := a.Key(); !keyed {
		return fmt.Sprintf("session.%s has instances; name one of them, like %s.", a.Block(), in.list[0].address)
	}
	return fmt.Sprintf("There is no %s; session.%s has %d instances, like %s.", a, a.Block(), len(in.list), in.list[0].address)
}
