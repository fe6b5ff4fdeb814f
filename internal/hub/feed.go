package hub

import (
	"log/slog"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/notify"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// feed passes on new events of the histories, to subscribers and notify.
type feed struct {
	*stream
	project, dataDir string
	notify           func(notify.Event) // nil: nobody is notified
	log              *slog.Logger
	past             time.Time // events up to it were notified by an earlier hub
}

// publish passes on new events. When the hub has just started, subscribers do not get
// them, and it notifies of those since the last hub ended only.
func (f *feed) publish(a session.Address, m *memory, atStart bool) {
	fresh, err := m.readHistory()
	if err != nil {
		f.log.Warn("a history cannot be read", "session", a, "error", err)
	}
	if !atStart {
		f.put(fresh...)
	}
	since := time.Now().Add(-maxNotifyAge)
	if f.past.After(since) {
		since = f.past
	}
	for _, e := range fresh {
		if !atStart || !f.past.IsZero() && e.Time.After(since) {
			f.notifyOf(e, m)
		}
	}
}

func (f *feed) notifyOf(e history.Event, m *memory) {
	on, also := notable(e)
	if on == "" {
		return
	}
	if f.notify != nil {
		x := notify.Event{Event: on, Also: also, Time: e.Time, Project: f.project, Address: string(e.Address), ID: e.ID, Run: e.Run,
			Old: e.Old, New: e.New, Reason: e.Reason, Detail: e.Detail, Branch: m.branch}
		if e.Kind == history.TurnEnded || on == string(session.StatusBlocked) {
			input := of(history.Sent, history.PromptDelivered)
			if was := last(m.events, func(p history.Event) bool { return input(p) && p.Time.Before(e.Time) }, never); was != nil {
				x.Given = was.Time
			}
		}
		x.Excerpt, x.Truncated = wire.Tail(e.Excerpt)
		f.notify(x)
	}
	if e.Time.After(f.past) {
		f.past = e.Time
		writeNotified(f.dataDir, f.past)
	}
}

// notable returns the name that notify blocks have for an event, or "", and a second one.
func notable(e history.Event) (on, also string) {
	switch e.Kind {
	case history.Escalated, history.BranchMismatch, history.PRDetected, history.Unhealthy, history.TurnEnded:
		return string(e.Kind), ""
	case history.StatusChanged:
		switch s := session.Status(e.New); s {
		case session.StatusBlocked, session.StatusBlockedAPI, session.StatusFailed, session.StatusDone:
			return string(s), ""
		case session.StatusExited:
			return string(s), e.Reason // stale, if its place is left
		}
	}
	return "", ""
}
