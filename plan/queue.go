package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentform/agentform/session"
)

// hold holds back what cannot start now: what depends on something that is in
// error or held itself, and what would bring more agents to life than may live
// at once, the higher priority first.
func (s *scene) hold(p *Plan) {
	w := waiting{scene: s, at: make(map[session.Address]*Change, len(p.Changes)), faulty: map[session.Address]bool{}, ranks: map[session.Address]rank{}}
	alive, young := 0, 0
	var starters []*Change
	for i := range p.Changes {
		c := &p.Changes[i]
		w.at[c.Address] = c
		lives := c.Live != nil && c.Live.Vital == session.Alive
		switch {
		case lives && c.Action != Delete && c.Action != Stop:
			alive++
			if s.young(*c) {
				young++
			}
		case !lives && starts(*c):
			starters = append(starters, c)
		case (s.lost(*c) || c.Live != nil && c.Live.Vital == session.Unknown) && c.Action != Delete && c.Action != Stop:
			alive++ // not dead: its place is not given away
		case c.Reason == ReasonUnderWay && c.State == session.StatePending:
			alive++ // a command is starting it
		}
	}
	for _, d := range p.Problems {
		if d.Severity == session.Error {
			w.faulty[d.Address] = true
		}
	}
	w.rank(starters)
	slices.SortStableFunc(starters, func(a, b *Change) int {
		ra, rb := w.ranks[a.Address], w.ranks[b.Address]
		return cmp.Or(cmp.Compare(rb.priority, ra.priority), cmp.Compare(ra.depth, rb.depth), cmp.Compare(tries(a), tries(b)))
	})
	limit := s.in.Options.MaxRunning
	for _, c := range starters {
		waits, isHeld := w.dependencies(*c)
		switch {
		case isHeld:
			*c = waits
		case limit > 0 && alive >= limit:
			*c = held(*c, ReasonQueued, fmt.Sprintf("queued: %d of %d running (max_running)", alive, limit))
		case s.in.Hub != nil && !s.in.Hub.room(&young):
			*c = held(*c, ReasonQueued, fmt.Sprintf("queued: %d at a time are started", s.in.Hub.AtOnce))
			c.Until = s.in.Now.Add(breath)
		default:
			alive++
		}
	}
}

// tries is the how-manieth start of a session the hub's next one is: those that
// crash again and again leave a place to the others.
func tries(c *Change) int {
	if c.Restarts == nil {
		return 0
	}
	return c.Restarts.Try
}

// waiting is who waits for whom.
type waiting struct {
	*scene
	at     map[session.Address]*Change
	faulty map[session.Address]bool
	ranks  map[session.Address]rank
}

// rank is when a session's turn comes: a dependency is as urgent as the most
// urgent session that waits for it, and comes before it.
type rank struct{ priority, depth int }

func (w *waiting) rank(starters []*Change) {
	for _, c := range starters {
		w.raise(c.Address, w.wanted[c.Address].Priority)
	}
	for _, c := range starters {
		w.deepen(c.Address, map[session.Address]bool{})
	}
}

// raise gives a session, and all that it needs, at least that priority.
func (w *waiting) raise(a session.Address, priority int) {
	if r, ranked := w.ranks[a]; ranked && r.priority >= priority || w.wanted[a] == nil {
		return
	}
	w.ranks[a] = rank{priority: max(priority, w.wanted[a].Priority)}
	for _, d := range w.needs(a) {
		w.raise(d, w.ranks[a].priority)
	}
}

// deepen counts how many sessions have to start one after the other before a
// session can. path is what led here: a cycle ends.
func (w *waiting) deepen(a session.Address, path map[session.Address]bool) int {
	r := w.ranks[a]
	if r.depth > 0 || path[a] {
		return r.depth
	}
	path[a] = true
	r.depth = 1
	for _, d := range w.needs(a) {
		r.depth = max(r.depth, 1+w.deepen(d, path))
	}
	w.ranks[a] = r
	return r.depth
}

// starts reports whether carrying out the change brings an agent to life.
func starts(c Change) bool {
	return slices.Contains([]Action{Create, Restart, Replace}, c.Action) ||
		c.Action == Adopt && slices.Contains([]Action{Restart, Replace}, c.Then)
}

func held(c Change, r Reason, detail string) Change {
	if c.Action != Hold {
		c.Holds = c.Action
	}
	c.Action, c.Then, c.Reason, c.Detail = Hold, "", r, detail
	return c
}
