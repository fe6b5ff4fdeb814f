package hub

import (
	"cmp"
	"maps"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// limit returns the limit of the model's provider that the session's agent is at, or at which
// it exited.
func (m *memory) limit(r session.Record) (_ plan.Limit, limited bool) {
	n := m.activity.Transcript
	switch {
	case m.liveness == session.Alive && m.activity.Activity == session.BlockedAPI:
		until := m.activity.Detection.Until
		return plan.Limit{Since: m.limitedSince(), Until: until, Said: !until.IsZero()}, true
	case m.liveness != session.Alive && n != nil && n.Activity == session.BlockedAPI:
		return plan.Limit{Since: n.At, Until: cmp.Or(n.Until, n.At.Add(r.Spec.Restart.Backoff.Max.D())), Said: !n.Until.IsZero()}, true
	}
	return plan.Limit{}, false
}

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

// limitedSince returns when the live agent met the limit that it is at.
func (m *memory) limitedSince() time.Time {
	at := func(e history.Event) bool {
		return e.Kind == history.StatusChanged && e.Run == m.run && e.New == string(session.StatusBlockedAPI)
	}
	if e := last(m.events, at, of(history.StatusChanged)); e != nil {
		return e.Time
	}
	return m.readAt
}
