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
// changes of the workspaces whose session has had output, or that were not checked for long. After the
// end of a turn they are counted whatever is known of them.
func (h *Hub) count(ctx context.Context, s *Snapshot) {
	all := fleet.Of(s.Sessions, func(spec session.RuntimeSpec) (session.Runtime, error) { return h.engine.Opened(s.Lineage, spec) })
	h.changes.Known(s.Sessions, all)
	h.changes.Start(ctx, h.work.Go, all, func(a session.Address) fleet.Due {
		m, due := h.observer.memory[a], fleet.Count
		if m.turnOver {
			due = fleet.Recount
		} else if m.movedAt.Add(time.Second).Before(m.checkedAt) && s.At.Sub(m.checkedAt) < checkInterval {
			return fleet.Leave // the time of the last output is in whole seconds
		}
		m.checkedAt, m.turnOver = s.At, false
		return due
	}, h.Wake)
}
