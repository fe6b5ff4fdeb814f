package hub

import (
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/notify"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// hear reads what a session's history has more, hands it on to those who listen,
// and tells those who are to be notified. What there was before this hub is no news,
// but for what happened while there was none.
func (h *Hub) hear(a session.Address, m *memory, before bool) {
	fresh, err := m.hear()
	if err != nil {
		h.log.Warn("a history cannot be read", "session", a, "error", err)
	}
	if before {
		since := time.Now().Add(-forgets)
		if h.past.After(since) {
			since = h.past
		}
		for _, e := range fresh {
			if !h.past.IsZero() && e.Time.After(since) {
				h.notify(e, m.events)
			}
		}
		return
	}
	h.stream.put(fresh...)
	for _, e := range fresh {
		h.notify(e, m.events)
	}
}

// notify tells of an event, if it is one of those that somebody may want to hear of. Past
// is the session's history.
func (h *Hub) notify(e history.Event, past []history.Event) {
	on, also := notable(e)
	if on == "" {
		return
	}
	if h.cfg.Notify != nil {
		x := notify.Event{Event: on, Also: also, Time: e.Time, Project: h.cfg.Project, Address: string(e.Address), ID: e.ID, Run: e.Run,
			Old: e.Old, New: e.New, Reason: e.Reason, Detail: e.Detail}
		if k, ok := h.Snapshot().Of(e.Address); ok {
			x.Branch = k.Record.Spec.Branch
		}
		if e.Kind == history.TurnEnded || on == string(session.StatusBlocked) {
			x.Given = given(past, e.Time)
		}
		x.Excerpt, x.Truncated = wire.Tail(e.Excerpt)
		h.cfg.Notify(x)
	}
	if e.Time.After(h.past) {
		h.past = e.Time
		writeSeen(h.cfg.DataDir, h.past)
	}
}

// given returns when the session was last given something before a time, as its history
// tells; zero: it does not.
func given(past []history.Event, before time.Time) time.Time {
	fits := of(history.Sent, history.PromptDelivered)
	if e := last(past, func(e history.Event) bool { return fits(e) && e.Time.Before(before) }, func(history.Event) bool { return false }); e != nil {
		return e.Time
	}
	return time.Time{}
}

// notable returns what the manifest's notify blocks call an event, and another word that
// they may have for it; empty: they do not.
func notable(e history.Event) (on, also string) {
	switch e.Kind {
	case history.Escalated, history.BranchMismatch, history.PRDetected, history.Unhealthy, history.TurnEnded:
		return string(e.Kind), ""
	case history.StatusChanged:
		switch s := session.Status(e.New); s {
		case session.StatusBlocked, session.StatusBlockedAPI, session.StatusFailed, session.StatusDone:
			return string(s), ""
		case session.StatusExited:
			return string(s), e.Reason // stale, if its place stands
		}
	}
	return "", ""
}
