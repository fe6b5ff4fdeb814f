package hub

import (
	"testing"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// TestMovingByAClockThatWasSet takes a session for moving only shortly after it put
// something out, also by a clock that was set back since.
func TestMovingByAClockThatWasSet(t *testing.T) {
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	for since, want := range map[time.Duration]bool{
		0: true, turn.Quiet - 1: true, turn.Quiet: false, time.Hour: false, -1: false, -time.Hour: false,
	} {
		m := memory{movedAt: at}
		if got := m.moving(at.Add(since)); got != want {
			t.Errorf("%s after it: moving is %v", since, got)
		}
	}
	if new(memory).moving(at) {
		t.Error("what never put anything out is moving")
	}
}

// TestAdvanced takes a screen that was captured while its program redrew it for no
// movement, and neither the whole one after it.
func TestAdvanced(t *testing.T) {
	const whole = "✦ I look.\n\n⠼ Thinking... (esc to cancel, 3s)\n > Type your message\n /work/shop     no sandbox\n"
	m := memory{shownAt: time.Now(), screen: whole}
	if !m.advanced() {
		t.Error("the first screen is no movement")
	}
	for _, s := range []struct {
		screen string
		want   bool
	}{
		{"✦ I look.\n\n⠹ Thinking... (esc to cancel, 4s)\n > Type your message\n /work/shop\n", false},
		{whole, false},
		{"", false},
		{"✦ I look.\n\n⠹ Thinking... (esc to", false},
		{whole, false},
		{"✦ I look there.\n\n⠹ Thinking... (esc to cancel, 5s)\n > Type your message\n /work/shop     no sandbox\n", true},
		{"✦ I look there.\n✦ And there.\n\n⠹ Thinking... (esc to", true},
	} {
		m.screen = s.screen
		if got := m.advanced(); got != s.want {
			t.Errorf("movement is %v for %q", got, s.screen)
		}
	}
}

// TestTurnOfAnAgentThatShowsNothing tells a turn of which no look has seen the work, once for
// each input, and one that the agent has begun by itself.
func TestTurnOfAnAgentThatShowsNothing(t *testing.T) {
	start := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	m := memory{run: "r", liveness: session.Alive}
	sent := func(seconds int) { m.events = append(m.events, history.Event{Kind: history.Sent, Time: at(seconds)}) }
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
		m.activity = activity.Look{Activity: step.does}
		m.follow(session.Record{}, at(step.seconds))
		if got := m.course.EndedAt(); !got.Equal(step.want) {
			t.Errorf("after %d s the turn ended at %v, want %v", step.seconds, got, step.want)
		}
		if got := m.course.Due(); got != step.again {
			t.Errorf("after %d s the next look is in %v, want %v", step.seconds, got, step.again)
		}
	}
}

// TestTurnEndedWhileAMessageWaits checks that the rest before a queued message is not told
// as the end of a turn.
func TestTurnEndedWhileAMessageWaits(t *testing.T) {
	start := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	m := memory{liveness: session.Alive, events: []history.Event{{Kind: history.Sent, Time: at(1), Reason: history.Queued}}}
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
		m.activity = step.look
		m.follow(session.Record{}, at(step.seconds))
		if got := m.course.EndedAt(); !got.Equal(step.want) {
			t.Errorf("after %d s the turn ended at %v, want %v", step.seconds, got, step.want)
		}
	}
}
