package activity_test

import (
	"testing"
	"time"

	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// TestEndedAt checks that a turn that a person interrupted has ended, though nothing that waits for it may
// begin, and that one of an earlier run has not unless the agent reports it.
func TestEndedAt(t *testing.T) {
	began := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return began.Add(time.Duration(minutes) * time.Minute) }
	interrupted := &session.Transcript{Interrupted: true}
	for name, c := range map[string]struct {
		given, run    int
		x             activity.Look
		ended, counts bool
	}{
		"in this run":             {10, 5, activity.Look{}, true, true},
		"by a person":             {10, 5, activity.Look{Transcript: interrupted}, true, false},
		"of an earlier run":       {10, 20, activity.Look{}, false, false},
		"of one, by its own file": {10, 20, activity.Look{TurnAt: at(12)}, true, true},
	} {
		c.x.Activity = session.Idle
		course := turn.Once(turn.Look{At: at(60), Run: "one", Activity: session.Idle, Alive: true, Given: at(c.given), Since: at(c.given + 1), TurnAt: c.x.TurnAt})
		rec := session.Record{Run: session.Run{ID: "one", StartedAt: at(c.run)}}
		if got := !activity.EndedAt(course, rec, c.x).IsZero(); got != c.ended {
			t.Errorf("%s: ended is %v", name, got)
		}
		if got := !activity.DoingOf(course, rec, c.x, nil).Ended.IsZero(); got != c.counts {
			t.Errorf("%s: ended for others is %v", name, got)
		}
	}
}
