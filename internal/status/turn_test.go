package status_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// seen adds a look at a live agent to what is known of its turn.
func seen(course *status.Course, look activity.Look, past []history.Event, at time.Time) {
	k := status.Input{Record: &session.Record{}, Live: &session.Live{Liveness: session.Alive}, Look: &look, Events: past, At: at}
	k.See(course)
}

// TestTurnOfAnAgentThatShowsNothing tells a turn of which no look has seen the work, once for
// each input, and one that the agent has begun by itself.
func TestTurnOfAnAgentThatShowsNothing(t *testing.T) {
	start := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	var course status.Course
	var events []history.Event
	sent := func(seconds int) { events = append(events, history.Event{Kind: history.Sent, Time: at(seconds)}) }
	for _, step := range []struct {
		seconds int
		does    session.Activity
		want    time.Time
		again   time.Duration
	}{
		{1, session.Idle, time.Time{}, 0}, // it was given nothing
		{60, session.Idle, time.Time{}, 0},
		{62, session.Idle, time.Time{}, 3 * time.Second}, // sent at 60
		{65, session.Idle, at(60), 0},
		{99, session.Idle, at(60), 0},
		{101, session.NoActivity, time.Time{}, 0}, // sent at 100: it works, and nothing tells so
		{104, session.Idle, time.Time{}, 5 * time.Second},
		{109, session.Idle, at(100), 0},
		{200, session.Working, time.Time{}, 0}, // by itself
		{204, session.Idle, time.Time{}, turn.Calm},
		{205, session.Idle, at(204), 0},
	} {
		switch step.seconds {
		case 62:
			sent(60)
		case 101:
			sent(100)
		}
		seen(&course, activity.Look{Activity: step.does}, events, at(step.seconds))
		if got := course.EndedAt(); !got.Equal(step.want) {
			t.Errorf("after %d s the turn ended at %v, want %v", step.seconds, got, step.want)
		}
		if got := course.Due(); got != step.again {
			t.Errorf("after %d s the next look is in %v, want %v", step.seconds, got, step.again)
		}
	}
}

// TestTurnEndedWhileAMessageWaits checks that the rest before a queued message is not told
// as the end of a turn.
func TestTurnEndedWhileAMessageWaits(t *testing.T) {
	start := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	var course status.Course
	events := []history.Event{{Kind: history.Sent, Time: at(1), Reason: history.Queued}}
	for _, step := range []struct {
		seconds int
		look    activity.Look
		want    time.Time
	}{
		{2, activity.Look{Activity: session.Working, Answer: turn.Awaited}, time.Time{}},
		{5, activity.Look{Activity: session.Idle, Answer: turn.Awaited, TurnAt: at(4)}, time.Time{}},
		{20, activity.Look{Activity: session.Idle, Answer: turn.Awaited, TurnAt: at(4)}, time.Time{}},
		{21, activity.Look{Activity: session.Working, Answer: turn.Awaited}, time.Time{}},
		{30, activity.Look{Activity: session.Idle, Answer: turn.Given, TurnAt: at(29)}, at(29)},
		{31, activity.Look{Activity: session.Idle, Answer: turn.Awaited, TurnAt: at(29)}, time.Time{}},
		{61, activity.Look{Activity: session.Idle, Answer: turn.Awaited, TurnAt: at(29)}, at(29)}, // taken back
	} {
		seen(&course, step.look, events, at(step.seconds))
		if got := course.EndedAt(); !got.Equal(step.want) {
			t.Errorf("after %d s the turn ended at %v, want %v", step.seconds, got, step.want)
		}
	}
}

// TestSinceOnAnotherBranch checks since when a session is on another branch, where no file says it:
// that is not since when its agent does what it does.
func TestSinceOnAnotherBranch(t *testing.T) {
	start := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for name, c := range map[string]struct {
		branches map[int]string // that a look saw
		last     int
		want     time.Time
	}{
		"seen when it was switched":   {map[int]string{1: "api", 41: "main", 43: "main"}, 43, at(41)},
		"switched to and fro":         {map[int]string{1: "main", 2: "api", 41: "main"}, 41, at(41)},
		"and the agent does the same": {map[int]string{1: "main", 90: "main"}, 90, at(1)},
	} {
		var course status.Course
		for _, seconds := range slices.Sorted(maps.Keys(c.branches)) {
			k := status.Input{
				Record: &session.Record{Spec: session.Spec{Branch: "api"}}, Live: &session.Live{Liveness: session.Alive},
				Diagnosis: plan.Diagnosis{State: session.StateRunning, Alive: new(true)},
				Look:      &activity.Look{Activity: session.Working}, At: at(seconds),
				Checkout: &session.Checkout{Exists: true, Git: true, Branch: c.branches[seconds]},
			}
			k.See(&course)
			if x := status.Of(k); seconds == c.last && (x.Needs == nil || !x.Needs.Since.Equal(c.want)) {
				t.Errorf("%s: it needs a person as %+v, want since %s", name, x.Needs, c.want)
			}
		}
	}
}
