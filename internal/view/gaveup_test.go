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

// What keeps an approved start from happening is said of it, and of one that was stopped
// only that.
func TestStuckStartIsSaid(t *testing.T) {
	dead := false
	for _, c := range []struct {
		change plan.Change
		want   string
	}{
		{plan.Change{Action: plan.None, Reason: plan.ReasonBranchHeld, State: session.StatePending, Detail: "branch is held elsewhere"}, "branch is held elsewhere"},
		{plan.Change{Action: plan.None, Reason: plan.ReasonStop, State: session.StateStopped, Detail: "stopped by ada"}, "approved"},
		{plan.Change{Action: plan.Hold, Reason: plan.ReasonQueued, State: session.StatePending, Detail: "queued: 1 of 1"}, "queued: 1 of 1"},
		{plan.Change{Action: plan.Create, State: session.StatePending}, "approved"},
	} {
		k := Known{Record: &session.Record{Address: "session.api", Intent: session.Queued},
			Diagnosis: plan.Diagnosis{State: session.StatePending, Alive: &dead, Detail: "approved"}}
		c.change.Before = k.Record
		k.Hold(c.change)
		if got := SessionOf(k).Detail; got != c.want {
			t.Errorf("%s %s: it says %q, want %q", c.change.Action, c.change.Reason, got, c.want)
		}
	}
}
