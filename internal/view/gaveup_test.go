package view

import (
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// That the hub has given up is what is said of a session, also if its last action failed.
func TestGaveUpIsSaid(t *testing.T) {
	dead := false
	k := Known{Record: &session.Record{Address: "session.api", Trouble: "type the prompt: it was typed, and the agent has left: is gone"},
		Diagnosis: plan.Diagnosis{State: session.StateStale, Alive: &dead, Detail: "stale: session is gone"}}
	v := health.Verdict{Reason: health.BudgetGone, Try: 4, Of: 3, Window: 15 * time.Minute}
	k.Hold(plan.Change{Action: plan.Hold, State: session.StateError, Detail: v.String(), Restarts: &v})
	s := SessionOf(k)
	if !strings.Contains(s.Detail, "not started again: 3 tries") || strings.Contains(s.Detail, "type the prompt") {
		t.Errorf("it says %q", s.Detail)
	}
	if s.Budget == nil || s.Budget.Try != 3 || s.Budget.Of != 3 {
		t.Errorf("budget %+v", s.Budget)
	}
	k.Restarts = nil
	if s := SessionOf(k); !strings.Contains(s.Detail, "type the prompt") {
		t.Errorf("without a budget it says %q", s.Detail)
	}
}
