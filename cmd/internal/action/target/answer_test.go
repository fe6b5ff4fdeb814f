package target

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/session"
)

func TestRemedyWithoutQuestion(t *testing.T) {
	for activity, want := range map[session.Activity]string{
		session.Idle:    "\nagentform send api TEXT sends a prompt",
		session.Booting: "\nagentform wait api --for=ready,blocked waits until it accepts a prompt or asks",
		session.Blocked: "\nagentform attach api shows it, agentform send api --key KEY presses a key",
	} {
		asked := &Asking{Target: &Target{Seen: engine.Seen{Record: session.Record{Address: "session.api"}}}}
		none := &input.NoQuestionError{Activity: activity}
		if err := asked.answerRemedy(none); !strings.HasSuffix(err.Error(), want) || !errors.Is(err, none) {
			t.Errorf("%s: %q, want %q at its end", activity, err, want)
		}
	}
}
