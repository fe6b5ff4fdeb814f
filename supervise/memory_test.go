package supervise

import (
	"testing"
	"time"

	"github.com/agentform/agentform/history"
)

// A look that began before a session was begun to be started says nothing of that
// start: its first try is no reason to tell that the tries are used up.
func TestBegunSinceALook(t *testing.T) {
	looked := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	at := func(d time.Duration) *memory {
		return &memory{events: []history.Event{{Kind: history.ApplyStart, Time: looked.Add(d)}, {Kind: history.Ready, Time: looked.Add(time.Second)}}}
	}
	now := looked.Add(time.Second)
	for name, c := range map[string]struct {
		since time.Duration
		want  bool
	}{
		"before the look":                 {-time.Second, false},
		"while it was being looked":       {time.Millisecond, true},
		"by a clock that was put forward": {time.Hour, false},
	} {
		if got := at(c.since).begun(looked, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
