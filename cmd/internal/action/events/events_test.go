package events

import (
	"testing"
	"time"

	"github.com/agentform/agentform/history"
)

// TestWithout checks that a follower gets each event once, including late ones and duplicates.
func TestWithout(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	event := func(seconds int, kind history.Kind) history.Event {
		return history.Event{Time: at.Add(time.Duration(seconds) * time.Second), Address: "session.api", Kind: kind}
	}
	old := []history.Event{event(0, history.Sent), event(2, history.Sent)}
	all := []history.Event{event(0, history.Sent), event(0, history.Sent), event(1, history.Ready), event(2, history.Sent)}
	more := added(all, old)
	if len(more) != 2 || more[0].Kind != history.Sent || more[1].Kind != history.Ready {
		t.Errorf("added: %v", more)
	}
}
