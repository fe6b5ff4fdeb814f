package hub

import (
	"log/slog"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/notify"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// feed passes on what the histories have more: to subscribers, and to those who are
// notified.
type feed struct {
	stream
	project, dataDir string
	notify           func(notify.Event) // nil: nobody is notified
	branch           func(session.Address) string
	log              *slog.Logger
	past             time.Time // events up to it were notified by an earlier hub
}

// publish passes on the new events of a session's history: to subscribers, and to those
// who are notified. atStart says that the hub has just started: the events happened
// without it, so subscribers do not get them, and only those are notified that happened
// since the last hub ended.
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
			f.notifyOf(e, m.events)
		}
	}
}

// notifyOf notifies of an event that a notify block may name. past is the session's
// history.
func (f *feed) notifyOf(e history.Event, past []history.Event) {
	on, also := notable(e)
	if on == "" {
		return
	}
	if f.notify != nil {
		x := notify.Event{Event: on, Also: also, Time: e.Time, Project: f.project, Address: string(e.Address), ID: e.ID, Run: e.Run,
			Old: e.Old, New: e.New, Reason: e.Reason, Detail: e.Detail, Branch: f.branch(e.Address)}
		if e.Kind == history.TurnEnded || on == string(session.StatusBlocked) {
			x.Given = given(past, e.Time)
		}
		x.Excerpt, x.Truncated = wire.Tail(e.Excerpt)
		f.notify(x)
	}
	if e.Time.After(f.past) {
		f.past = e.Time
		writeNotified(f.dataDir, f.past)
	}
}

// given returns when the session was last given a prompt or other input before a time;
// zero if that is not in its history.
func given(past []history.Event, before time.Time) time.Time {
	fits := of(history.Sent, history.PromptDelivered)
	if e := last(past, func(e history.Event) bool { return fits(e) && e.Time.Before(before) }, func(history.Event) bool { return false }); e != nil {
		return e.Time
	}
	return time.Time{}
}

// notable returns the name that notify blocks have for an event, and a second one; empty
// if they have none.
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
