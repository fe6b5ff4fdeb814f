package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentform/agentform/session"
)

// queue holds back what would bring more agents to life than may live at once,
// the higher priority first.
func (s *scene) queue(p *Plan) {
	limit := s.in.Options.MaxRunning
	if limit <= 0 {
		return
	}
	alive := 0
	var starters []*Change
	for i := range p.Changes {
		c := &p.Changes[i]
		lives := c.Live != nil && c.Live.Vital == session.Alive
		switch {
		case lives && c.Action != Delete && c.Action != Stop:
			alive++
		case !lives && starts(*c):
			starters = append(starters, c)
		}
	}
	slices.SortStableFunc(starters, func(a, b *Change) int { return cmp.Compare(b.After.Priority, a.After.Priority) })
	for _, c := range starters {
		if alive < limit {
			alive++
			continue
		}
		*c = held(*c, ReasonQueued, fmt.Sprintf("queued: max_running = %d; it starts when a place falls free", limit))
	}
}

// dependencies holds back what would start before something that it depends on
// can: that is in error, or held itself.
func (s *scene) dependencies(p *Plan) {
	at := make(map[session.Address]*Change, len(p.Changes))
	for i := range p.Changes {
		at[p.Changes[i].Address] = &p.Changes[i]
	}
	faulty := map[session.Address]bool{}
	for _, d := range p.Problems {
		if d.Severity == session.Error {
			faulty[d.Address] = true
		}
	}
	visited := map[session.Address]bool{}
	var visit func(*Change)
	visit = func(c *Change) {
		if visited[c.Address] {
			return
		}
		visited[c.Address] = true
		for _, a := range s.needs(c.Address) {
			d := at[a]
			if d == nil {
				continue
			}
			visit(d)
			lives := d.Live != nil && d.Live.Vital == session.Alive
			if starts(*c) && c.Action != Hold && !lives && (d.Action == Hold || faulty[a] && d.Action == None) {
				*c = held(*c, ReasonDependency, fmt.Sprintf("waits for %s: %s", a, d.Detail))
			}
		}
	}
	for i := range p.Changes {
		visit(&p.Changes[i])
	}
}

// starts reports whether carrying out the change brings an agent to life.
func starts(c Change) bool {
	return slices.Contains([]Action{Create, Restart, Replace}, c.Action) ||
		c.Action == Adopt && slices.Contains([]Action{Restart, Replace}, c.Then)
}

func held(c Change, r Reason, detail string) Change {
	c.Action, c.Then, c.Reason, c.Detail = Hold, "", r, detail
	return c
}
