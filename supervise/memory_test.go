package supervise

import (
	"testing"
	"time"
)

// TestMovingByAClockThatWasSet takes a session for moving only shortly after it put
// something out, also by a clock that was set back since.
func TestMovingByAClockThatWasSet(t *testing.T) {
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	for since, want := range map[time.Duration]bool{
		0: true, rest - 1: true, rest: false, time.Hour: false, -1: false, -time.Hour: false,
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
