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

// sharing reports whether people were notified of a session's limit, or of its refused credential,
// for another one with the same credential, which is at it too, and counts the others with that
// credential.
func sharing(all map[session.Address]*memory, a session.Address, m *memory, refused bool) (told bool, others int) {
	if m.credential.ID == "" {
		return false, 0
	}
	until := m.activity.Detection.Until
	accepted := m.access.Accepted // by any of them
	said := map[session.Address]*memory{}
	for other, x := range all {
		if x.credential.ID != m.credential.ID {
			continue
		}
		if x.access.Accepted.After(accepted) {
			accepted = x.access.Accepted
		}
		if other == a {
			continue
		}
		if x.liveness == session.Alive {
			others++
		}
		is, status := x.activity.Activity == session.BlockedAPI, session.StatusBlockedAPI
		if refused {
			is, status = !x.access.Refused.IsZero(), session.StatusFailed
		}
		if is && fleet.Last(x.Events, fleet.Became(x.run, status), of(history.StatusChanged)) != nil {
			said[other] = x
		}
	}
	for _, x := range said {
		if refused {
			told = told || x.access.Refused.After(accepted)
			continue
		}
		told = told || x.activity.Detection.Until.Sub(until).Abs() < sameEnd
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
