package activity_test

import (
	"testing"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/session"
)

// TestInterrupted checks how long the turn that was cut off is the last one.
func TestInterrupted(t *testing.T) {
	cut := history.Event{Kind: history.TurnInterrupted}
	for name, c := range map[string]struct {
		does session.Activity
		past []history.Event
		want bool
	}{
		"rests since":     {session.Idle, []history.Event{{Kind: history.Sent}, cut, {Kind: history.Launched}, {Kind: history.Ready}}, true},
		"nothing is seen": {session.NoActivity, []history.Event{cut}, true},
		"a key":           {session.Idle, []history.Event{cut, {Kind: history.Sent, Detail: "key Escape"}}, true},
		"works":           {session.Working, []history.Event{cut}, false},
		"asks":            {session.Blocked, []history.Event{cut}, false},
		"a text":          {session.Idle, []history.Event{cut, {Kind: history.Sent, Detail: "12 bytes"}}, false},
		"its prompt":      {session.Idle, []history.Event{cut, {Kind: history.PromptDelivered}}, false},
		"another turn":    {session.Idle, []history.Event{cut, {Kind: history.TurnEnded}}, false},
		"never":           {session.Idle, []history.Event{{Kind: history.Sent}}, false},
	} {
		if got := activity.Interrupted(c.does, c.past) != nil; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
