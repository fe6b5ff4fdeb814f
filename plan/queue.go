package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/session"
)

// queue orders the starts of a plan and holds those that have to wait.
type queue struct {
	join    *join
	changes map[session.Address]*Change
	faulty  map[session.Address]bool
	ranks   map[session.Address]rank
}

// holdStarts holds the starts that wait for a dependency or for max_running.
func holdStarts(j *join, p *Plan) {
	q := queue{join: j, changes: make(map[session.Address]*Change, len(p.Changes)), faulty: map[session.Address]bool{}, ranks: map[session.Address]rank{}}
	running, starting, endless := 0, 0, 0
	var starters []*Change
	for i := range p.Changes {
		c := &p.Changes[i]
		q.changes[c.Address] = c
		lives := c.Live != nil && c.Live.Liveness == session.Alive
		unknown := c.Live != nil && c.Live.Liveness == session.Unknown
		switch stays := c.Action != Delete && c.Action != Stop; {
		case lives && stays:
			running++
			if endsNot(*c) {
				endless++
			}
			if c.Before != nil && j.in.Now.Sub(c.Before.Run.StartedAt) < startSpacing && !j.in.Now.Before(c.Before.Run.StartedAt) {
				starting++
			}
		case !lives && starts(*c):
			starters = append(starters, c)
		case (unknown || lost(j, *c)) && stays, // unknown is not dead
			c.Reason == ReasonUnderWay && c.State == session.StatePending: // a command is starting it
			running++
		}
	}
	for _, d := range p.Problems {
		if d.Severity == session.Error {
			q.faulty[d.Address] = true
		}
	}
	for _, c := range starters {
		q.raise(c.Address, j.wanted[c.Address].Priority)
	}
	for _, c := range starters {
		q.deepen(c.Address, map[session.Address]bool{})
	}
	tries := func(c *Change) int { return cmp.Or(c.Restarts, &health.Verdict{}).Try }
	slices.SortStableFunc(starters, func(a, b *Change) int {
		ra, rb := q.ranks[a.Address], q.ranks[b.Address]
		// Sessions that crash again and again give way to the others.
		return cmp.Or(cmp.Compare(rb.priority, ra.priority), cmp.Compare(ra.depth, rb.depth), cmp.Compare(tries(a), tries(b)))
	})
	limit, waiting := j.in.Options.MaxRunning, 0
	for _, c := range starters {
		if x, never := q.deadlock(*c, limit); never {
			*c, _ = stuck(*c, x)
			p.Problems = append(p.Problems, x)
			q.faulty[c.Address] = true
			continue
		}
		waits, isHeld := q.dependencies(*c)
		switch {
		case isHeld:
			*c = waits
		case limit > 0 && running >= limit:
			waiting++
			*c = held(*c, ReasonQueued, fmt.Sprintf("queued: %d of %d sessions running (max_running)", running, limit))
			c.Place = waiting
		case j.in.Hub != nil && j.in.Hub.AtOnce > 0 && starting >= j.in.Hub.AtOnce:
			*c = held(*c, ReasonQueued, fmt.Sprintf("queued: %d sessions are started at a time", j.in.Hub.AtOnce))
			c.Until = j.in.Now.Add(startSpacing)
		default:
			running, starting = running+1, starting+1
		}
	}
	p.Problems = append(p.Problems, undrained(starters, limit, endless)...)
}

// undrained returns a warning if some of the starts wait for places that no agent leaves by
// itself; endless is how many of those that have a place do not end.
func undrained(starters []*Change, limit, endless int) []session.Diagnostic {
	if limit == 0 {
		return nil
	}
	left := 0
	for _, c := range starters {
		switch {
		case c.Action == None || c.Action == Hold && !c.Waits():
		case endless >= limit && c.Waits():
			left++
		case endsNot(*c):
			endless++
		}
	}
	if left == 0 {
		return nil
	}
	waits, ends := "sessions wait", "end"
	if left == 1 {
		waits = "session waits"
	}
	if endless == 1 {
		ends = "ends"
	}
	return []session.Diagnostic{{Code: string(ReasonQueued), Severity: session.Warning,
		Summary: fmt.Sprintf("%d %s behind %d that never %s (max_running = %d)", left, waits, endless, ends, limit),
		Detail: "an interactive agent keeps its place when its turn has ended:\n" +
			"declare finish = \"turn\" where a turn is the task, stop some that are done, or raise max_running"}}
}

// deadlock returns why a session can never start: those that it depends on keep all places.
func (q *queue) deadlock(c Change, limit int) (_ session.Diagnostic, never bool) {
	if limit == 0 {
		return session.Diagnostic{}, false
	}
	holders := slices.Sorted(maps.Keys(q.keepers(c.Address, map[session.Address]bool{}, map[session.Address]bool{})))
	if len(holders) < limit {
		return session.Diagnostic{}, false
	}
	names := make([]string, len(holders))
	for i, a := range holders {
		names[i] = string(a)
	}
	return problem(c.Address, ReasonDependency, "it can never start", fmt.Sprintf(
		"max_running = %d, and as many that it depends on keep their places when their turn has ended: %s\ndeclare finish = \"turn\" there, or raise max_running to %d",
		limit, strings.Join(names, ", "), len(holders)+1)), true
}

// keepers adds the sessions that one needs, directly or not, and that never leave their place.
func (q *queue) keepers(a session.Address, found, seen map[session.Address]bool) map[session.Address]bool {
	for _, on := range q.join.needs(a) {
		if seen[on] {
			continue
		}
		seen[on] = true
		if d := q.changes[on]; d != nil && endsNot(*d) && (starts(*d) || d.Waits() || d.Live != nil && d.Live.Liveness == session.Alive) {
			found[on] = true
		}
		q.keepers(on, found, seen)
	}
	return found
}

// endsNot reports whether the agent of a session stays until someone ends it.
func endsNot(c Change) bool {
	s := c.After
	if s == nil && c.Before != nil {
		s = &c.Before.Spec
	}
	unprompted := s != nil && s.Finish == session.FinishTurn && s.Prompt.Digest == ""
	return s != nil && !s.Agent.OneShot && s.Timeout == 0 && (s.Finish == session.FinishNever || unprompted)
}

// rank is a start's place in the queue. A dependency has at least the priority of
// each session that waits for it, and comes before it.
type rank struct{ priority, depth int }

// raise gives a session and all that it needs at least that priority.
func (q *queue) raise(a session.Address, priority int) {
	if r, ranked := q.ranks[a]; ranked && r.priority >= priority || q.join.wanted[a] == nil {
		return
	}
	q.ranks[a] = rank{priority: max(priority, q.join.wanted[a].Priority)}
	for _, d := range q.join.needs(a) {
		q.raise(d, q.ranks[a].priority)
	}
}

// deepen counts the sessions that start one after the other before a session can.
// path holds those that led here, so that a cycle ends.
func (q *queue) deepen(a session.Address, path map[session.Address]bool) int {
	r := q.ranks[a]
	if r.depth > 0 || path[a] {
		return r.depth
	}
	path[a] = true
	r.depth = 1
	for _, d := range q.join.needs(a) {
		r.depth = max(r.depth, 1+q.deepen(d, path))
	}
	q.ranks[a] = r
	return r.depth
}

// starts reports whether carrying out the change starts an agent.
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
