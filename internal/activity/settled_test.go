package activity

import (
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/session"
)

// A file without the end of the last turn is used only if the agent rests.
func TestSettled(t *testing.T) {
	at := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	first := &session.Transcript{Turns: 1, FirstTurnAt: at, TurnAt: at, Unsettled: true}
	third := &session.Transcript{Turns: 3, FirstTurnAt: at, TurnAt: at.Add(time.Hour), Unsettled: true}
	resumed := &session.Transcript{Turns: 3, FirstTurnAt: at.Add(-time.Hour), TurnAt: at.Add(-time.Minute), Unsettled: true}
	for _, c := range []struct {
		n     *session.Transcript
		does  session.Activity
		turns int
		first time.Time
	}{
		{first, session.Idle, 1, at},
		{first, session.Failed, 1, at},
		{first, session.Blocked, 0, time.Time{}},
		{first, session.Working, 0, time.Time{}},
		{first, session.NoActivity, 0, time.Time{}},
		{third, session.Working, 2, at},
		{resumed, session.Booting, 3, at.Add(-time.Hour)},
		{resumed, session.NoActivity, 3, at.Add(-time.Hour)},
		{&session.Transcript{Turns: 1, FirstTurnAt: at}, session.Working, 1, at},
		{&session.Transcript{Turns: 2, FirstTurnAt: at, TurnAt: at, Unsettled: true}, session.Working, 1, time.Time{}}, // the first was interrupted
	} {
		got := settled(c.n, session.Detection{Activity: c.does}, at.Add(-time.Second))
		if got.Turns != c.turns || !got.FirstTurnAt.Equal(c.first) {
			t.Errorf("%d turns while it is %s: %d, the first at %s", c.n.Turns, c.does, got.Turns, got.FirstTurnAt)
		}
	}
	if first.Turns != 1 || third.Turns != 3 {
		t.Error("what was read was changed")
	}
	if settled(nil, session.Detection{}, at) != nil {
		t.Error("a file out of nothing")
	}
}

// TestTurnEndOfAQueuedMessage checks that a turn is not the last one while another
// message waits, or was taken up after it.
func TestTurnEndOfAQueuedMessage(t *testing.T) {
	start := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	stopped := []session.Signal{
		{At: at(1), Data: []byte(`{"hook_event_name":"UserPromptSubmit"}`)},
		{At: at(9), Data: []byte(`{"hook_event_name":"Stop"}`)},
	}
	for name, c := range map[string]struct {
		transcript session.Transcript
		signals    []session.Signal
		want       time.Time
	}{
		"nothing waits":                   {session.Transcript{Turns: 1, Activity: session.Idle, StartedAt: at(1), TakenAt: at(1), TurnAt: at(8), At: at(8)}, stopped, at(9)},
		"one waits":                       {session.Transcript{Turns: 1, Activity: session.Idle, StartedAt: at(1), TakenAt: at(1), TurnAt: at(8), At: at(8), Queued: make([]session.Message, 1)}, stopped, time.Time{}},
		"it was taken up":                 {session.Transcript{Turns: 1, Activity: session.Working, StartedAt: at(1), TakenAt: at(10), At: at(10)}, stopped, time.Time{}},
		"one waits, as the file tells":    {session.Transcript{Turns: 1, Activity: session.Idle, StartedAt: at(1), TakenAt: at(1), TurnAt: at(8), At: at(8), Queued: make([]session.Message, 1)}, nil, time.Time{}},
		"nothing waits, as the file says": {session.Transcript{Turns: 1, Activity: session.Idle, StartedAt: at(1), TakenAt: at(1), TurnAt: at(8), At: at(8)}, nil, at(8)},
		"settings are written after it":   {session.Transcript{Turns: 1, Activity: session.Idle, StartedAt: at(1), TurnAt: at(8), At: at(12)}, nil, at(8)},
		"the same, in a run after it":     {session.Transcript{Turns: 1, Activity: session.Idle, StartedAt: at(-90), TurnAt: at(-60), At: at(12)}, nil, at(-60)},
	} {
		if got := turnEnd(agent.For(agent.Builtins()["claude"]), &c.transcript, c.signals, start); !got.Equal(c.want) {
			t.Errorf("%s: the turn ended at %v, want %v", name, got, c.want)
		}
	}
}
