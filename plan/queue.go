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
	running, starting := 0, 0
	var kept places
	var starters []*Change
	for i := range p.Changes {
		c := &p.Changes[i]
		q.changes[c.Address] = c
		lives := c.Live != nil && c.Live.Liveness == session.Alive
		unknown := c.Live != nil && c.Live.Liveness == session.Unknown
		switch stays := c.Action != Delete && c.Action != Stop; {
		case lives && stays:
			running++
			kept.count(*c)
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
	p.Running = running
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
	deadlocked, enough := q.deadlocked(starters, limit)
	for _, c := range starters {
		if kept := deadlocked[c.Address]; len(kept) > 0 {
			x := deadlock(c.Address, kept, limit, enough)
			*c, _ = stuck(*c, x)
			p.Problems = append(p.Problems, x)
			q.faulty[c.Address] = true
			continue
		}
		waits, isHeld := q.dependencies(*c)
		if !isHeld {
			waits, isHeld = holdLimited(*c, j.spent)
		}
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
	p.Problems = append(p.Problems, undrained(starters, limit, kept)...)
}

// places counts the agents that keep their place until a person does something.
type places struct {
	endless int // stops them
	landing int // lands their work
}

func (p *places) count(c Change) {
	switch {
	case endsNot(c):
		p.endless++
	case c.EndsLanded():
		p.landing++
	}
}

// undrained returns a warning if some of the starts wait for places that no agent leaves by
// itself; kept are those of the agents that run.
func undrained(starters []*Change, limit int, kept places) []session.Diagnostic {
	if limit == 0 {
		return nil
	}
	left := 0
	for _, c := range starters {
		switch {
		case c.Action == None || c.Action == Hold && !c.Waits():
		case kept.endless+kept.landing >= limit && c.Waits():
			left++
		default:
			kept.count(*c)
		}
	}
	if left == 0 {
		return nil
	}
	wait, never, ends := "sessions wait", "never end", "end"
	if left == 1 {
		wait = "session waits"
	}
	if kept.endless+kept.landing == 1 {
		never, ends = "never ends", "ends"
	}
	switch {
	case kept.endless == 0:
		ends += " only when landed"
	case kept.landing == 0:
		ends = never
	default:
		ends += " only when landed, or never"
	}
	detail := "land some that are done, or raise max_running"
	if kept.endless > 0 {
		detail = "an interactive agent keeps its place when its turn has ended:\n" +
			"declare finish = \"turn\" where a turn is the task, stop some that are done, or raise max_running"
	}
	return []session.Diagnostic{{Code: string(ReasonQueued), Severity: session.Warning,
		Summary: fmt.Sprintf("%d %s behind %d that %s (max_running = %d)", left, wait, kept.endless+kept.landing, ends, limit), Detail: detail}}
}

// deadlocked returns the starts that can never happen, each with the sessions that it depends on
// and that keep all places, and the max_running with which all of them can.
func (q *queue) deadlocked(starters []*Change, limit int) (all map[session.Address][]session.Address, enough int) {
	if limit == 0 {
		return nil, 0
	}
	all = map[session.Address][]session.Address{}
	for _, c := range starters {
		kept := slices.Sorted(maps.Keys(q.keepers(c.Address, map[session.Address]bool{}, map[session.Address]bool{})))
		if len(kept) >= limit {
			all[c.Address], enough = kept, max(enough, len(kept)+1)
		}
	}
	return all, enough
}

func deadlock(a session.Address, kept []session.Address, limit, enough int) session.Diagnostic {
	names := make([]string, len(kept))
	for i, k := range kept {
		names[i] = string(k)
	}
	return problem(a, ReasonDependency, "it can never start", fmt.Sprintf(
		"max_running = %d, and as many that it depends on keep their places when their turn has ended: %s\ndeclare finish = \"turn\" there, or raise max_running to %d",
		limit, strings.Join(names, ", "), enough))
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
	s := c.spec()
	unprompted := s != nil && (s.Finish == session.FinishTurn || s.Finish == session.FinishVerified) && s.Prompt.Digest == ""
	return s != nil && !s.Agent.OneShot && s.Timeout == 0 && (s.Finish == session.FinishNever || unprompted)
}

// EndsLanded reports whether the agent of the session stays until someone lands its work.
func (c Change) EndsLanded() bool {
	s := c.spec()
	return s != nil && !s.Agent.OneShot && s.Timeout == 0 && s.Finish == session.FinishLanded
}

// spec returns what the session is to be, or else what it was.
func (c Change) spec() *session.Spec {
	if c.After == nil && c.Before != nil {
		return &c.Before.Spec
	}
	return c.After
}

// Drains reports whether the agent of the session runs and ends without a person.
func (c Change) Drains() bool {
	return c.spec() != nil && c.Live != nil && c.Live.Liveness == session.Alive && !endsNot(c) && !c.EndsLanded()
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
