package view

import (
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// TestLimits checks that status --wide and show have the used part of an account's limits, and that
// status has no column for them if no agent reports any.
func TestLimits(t *testing.T) {
	r := record("session.api", "agents/api")
	k := status.Input{At: at, Record: r, Diagnosis: plan.Diagnosis{State: session.StateRunning}, Look: &activity.Look{Transcript: &session.Transcript{
		Limits: []session.LimitWindow{
			{Length: session.Duration(5 * time.Hour), Used: 81.4, ResetsAt: ago(-time.Hour)},
			{Length: session.Duration(7 * 24 * time.Hour), Used: 12},
		}}}}
	x := status.Of(k)
	shown := func(write func(b *strings.Builder) error) string {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	table := func(x api.Session, wide bool) string {
		return shown(func(b *strings.Builder) error { return Status(b, Style{}, []api.Session{x}, wide, at) })
	}
	if got := table(x, true); !strings.Contains(got, "LIMITS") || !strings.Contains(got, "5h 81%, 7d 12%\n") {
		t.Errorf("wide:\n%s", got)
	}
	if got := table(x, false); strings.Contains(got, "LIMITS") {
		t.Errorf("not wide:\n%s", got)
	}
	got := shown(func(b *strings.Builder) error {
		return Show(b, Style{}, status.Detail{Session: x, Record: r}, at)
	})
	if !strings.Contains(got, "5h 81% (resets ") || !strings.Contains(got, "), 7d 12%\n") {
		t.Errorf("show:\n%s", got)
	}
	x.Limits = nil
	if got := table(x, true); strings.Contains(got, "LIMITS") {
		t.Errorf("no agent says it:\n%s", got)
	}
}
