package hub

import (
	"testing"
	"time"

	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/turn"
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

// TestDue counts the changes of a workspace after output, the end of a turn, a minute, and when work has
// landed, whose base has moved.
func TestDue(t *testing.T) {
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return at.Add(-d) }
	checked := memory{movedAt: ago(time.Minute), checkedAt: ago(10 * time.Second)}
	with := func(change func(*memory)) memory { m := checked; change(&m); return m }
	for name, c := range map[string]struct {
		m           memory
		landed, own time.Time
		want        fleet.Due
	}{
		"nothing":              {checked, time.Time{}, time.Time{}, fleet.Leave},
		"output":               {with(func(m *memory) { m.movedAt = ago(time.Second) }), time.Time{}, time.Time{}, fleet.Count},
		"output, not certain":  {with(func(m *memory) { m.movedAt = ago(11 * time.Second) }), time.Time{}, time.Time{}, fleet.Count},
		"a turn has ended":     {with(func(m *memory) { m.turnOver = true }), time.Time{}, time.Time{}, fleet.Recount},
		"a minute":             {with(func(m *memory) { m.checkedAt = ago(checkInterval) }), time.Time{}, time.Time{}, fleet.Count},
		"work has landed":      {checked, ago(9 * time.Second), time.Time{}, fleet.Count},
		"it had landed before": {checked, ago(11 * time.Second), time.Time{}, fleet.Leave},
		"its own has landed":   {checked, ago(9 * time.Second), ago(9 * time.Second), fleet.Recount},
		"its own had before":   {checked, ago(9 * time.Second), ago(11 * time.Second), fleet.Count},
		"nothing was ever seen, and its own has landed": {memory{}, at, at, fleet.Count},
		"nothing was ever seen":                         {memory{}, time.Time{}, time.Time{}, fleet.Count},
	} {
		if got := c.m.due(at, c.landed, c.own); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
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
