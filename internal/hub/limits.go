package hub

import (
	"fmt"
	"maps"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// recordQuotas records which quotas are used up, for commands that start sessions.
func (h *Hub) recordQuotas(s *Snapshot) {
	spent := plan.Quotas(s.Records(), s.input.Limits, s.At)
	if s.Fault != nil || maps.EqualFunc(spent, h.quotas, func(a, b plan.Quota) bool { return a.Session == b.Session && a.Until.Equal(b.Until) }) {
		return
	}
	h.quotas = spent
	recordNotified(h.cfg.DataDir, func(n *notified) { n.Quotas = spent })
}

// Quotas returns the quotas of a project that are used up, as its last hub has seen them.
func Quotas(dataDir string, now time.Time) map[string]plan.Quota {
	spent := readNotified(dataDir).Quotas
	maps.DeleteFunc(spent, func(_ string, q plan.Quota) bool { return !now.Before(q.Until) })
	return spent
}

// sharing reports whether people were notified of a session's limit for another one with the
// same credential, which is at it too, and counts the others with that credential.
func sharing(all map[session.Address]*memory, a session.Address, m *memory) (told bool, others int) {
	if m.credential.ID == "" {
		return false, 0
	}
	until := m.activity.Detection.Until
	for other, x := range all {
		if other == a || x.credential.ID != m.credential.ID {
			continue
		}
		if x.liveness == session.Alive {
			others++
		}
		ends := x.activity.Detection.Until
		said := fleet.Last(x.Events, fleet.MetLimit(x.run), of(history.StatusChanged)) != nil
		told = told || said && x.activity.Activity == session.BlockedAPI && ends.Sub(until).Abs() < sameEnd
	}
	return told, others
}

// sameEnd is how far apart agents say that the same limit ends, who say the minute.
const sameEnd = 2 * time.Minute

// withOthers adds to a limit how many other sessions it concerns.
func withOthers(detail string, others int) string {
	more := fmt.Sprintf("and %d more with the same credential", others)
	if detail == "" {
		return more
	}
	return detail + "; " + more
}
