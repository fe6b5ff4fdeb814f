package activity

import (
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// A file that does not tell whether the last turn has ended is believed only as
// far as the agent rests.
func TestSettled(t *testing.T) {
	at := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	first := &session.Native{Turns: 1, FirstTurnAt: at, Unsettled: true}
	third := &session.Native{Turns: 3, FirstTurnAt: at, Unsettled: true}
	for _, c := range []struct {
		n     *session.Native
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
		{&session.Native{Turns: 1, FirstTurnAt: at}, session.Working, 1, at},
	} {
		got := settled(c.n, session.Reading{Activity: c.does})
		if got.Turns != c.turns || !got.FirstTurnAt.Equal(c.first) {
			t.Errorf("%d turns while it is %s: %d, the first at %s", c.n.Turns, c.does, got.Turns, got.FirstTurnAt)
		}
	}
	if first.Turns != 1 || third.Turns != 3 {
		t.Error("what was read was changed")
	}
	if settled(nil, session.Reading{}) != nil {
		t.Error("a file out of nothing")
	}
}
