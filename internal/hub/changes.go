package hub

import (
	"context"
	"time"

	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/session"
)

// checkInterval is how often a workspace is checked for changes while its session has no
// output.
const checkInterval = time.Minute

// count adds the last counts of changes and conflicts, and starts to count, besides the looks, the
// changes of the workspaces whose session has had output, or that were not checked for long, or since work
// landed, which has moved a base. After the end of a turn, and when its own work has landed, they are counted
// whatever is known of them.
func (h *Hub) count(ctx context.Context, s *Snapshot) {
	all := fleet.Of(s.Sessions, func(spec session.RuntimeSpec) (session.Runtime, error) { return h.engine.Opened(s.Lineage, spec) })
	h.changes.Known(s.Sessions, all)
	var landed time.Time // the last work
	own := map[session.Address]time.Time{}
	for _, k := range s.Sessions {
		if l := k.Record.Landed; l != nil {
			own[k.Record.Address] = l.At
			if l.At.After(landed) {
				landed = l.At
			}
		}
	}
	h.changes.Start(ctx, h.work.Go, all, func(a session.Address) fleet.Due {
		m := h.observer.memory[a]
		due := m.due(s.At, landed, own[a])
		if due != fleet.Leave {
			m.checkedAt, m.turnOver = s.At, false
		}
		return due
	}, h.Wake)
}

// due returns whether the changes of the session's workspace are counted at a time. landed is when the
// work of any session has landed last, and own when its own has; zero: it has not.
func (m *memory) due(at, landed, own time.Time) fleet.Due {
	switch {
	case m.turnOver, !own.Before(m.checkedAt) && !own.IsZero() && !m.checkedAt.IsZero():
		return fleet.Recount
	case !m.movedAt.Add(time.Second).Before(m.checkedAt), // the time of the last output is in whole seconds
		!landed.Before(m.checkedAt), at.Sub(m.checkedAt) >= checkInterval:
		return fleet.Count
	}
	return fleet.Leave
}
