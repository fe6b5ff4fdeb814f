package activity_test

import (
	"testing"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/session"
)

// Attaching the first terminal, and detaching the last, is reported once each.
func TestAttachedIsTold(t *testing.T) {
	rec := session.Record{Address: "session.api", ID: "api-1", Run: session.Run{ID: "one"}}
	var past []history.Event
	told := ""
	for _, n := range []int{0, 1, 2, 1, 0, 0, 1} {
		more := activity.Changes(activity.Seen{Record: rec, Attached: &n}, past)
		past = append(past, more...)
		for _, e := range more {
			told += string(e.Kind) + " "
		}
	}
	past = append(past, activity.Changes(activity.Seen{Record: rec}, past)...) // not known
	if want := "client_attached client_detached client_attached "; told != want || len(past) != 3 {
		t.Errorf("told %q (%d), want %q", told, len(past), want)
	}
}

// A workspace on another branch is reported once for each such branch.
func TestAstray(t *testing.T) {
	rec := session.Record{Address: "session.api", Tree: session.WorkspaceState{Branch: "work"}}
	past := activity.Astray(rec, "main", "it is on main", nil)
	if len(past) != 1 || past[0].Old != "work" || past[0].New != "main" {
		t.Fatalf("told %+v", past)
	}
	if again := activity.Astray(rec, "main", "in other words", past); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
	if other := activity.Astray(rec, "other", "", past); len(other) != 1 {
		t.Error("another branch is not told")
	}
	moved := rec
	moved.Tree.Branch = "later"
	if other := activity.Astray(moved, "main", "", past); len(other) != 1 {
		t.Error("the same branch is not told where another one is declared")
	}
	past = append(past, history.Event{Kind: history.BranchRestored, New: "work"})
	if next := activity.Astray(rec, "main", "", past); len(next) != 1 {
		t.Error("the next episode is not told")
	}
}

// An illness belongs to the run in which it was found, and ends with that run.
func TestIllness(t *testing.T) {
	rec := session.Record{Address: "session.api", Run: session.Run{ID: "one"}}
	ill := history.Event{Kind: history.Unhealthy, Run: "one", Reason: "hung"}
	told := history.Event{Kind: history.Escalated, Run: "one", Reason: string(history.Unhealthy)}
	for name, c := range map[string]struct {
		past           []history.Event
		ill, escalated bool
	}{
		"never":                  {nil, false, false},
		"ill":                    {[]history.Event{ill}, true, false},
		"ill, a person was told": {[]history.Event{ill, told}, true, true},
		"well again":             {[]history.Event{ill, {Kind: history.Healthy, Run: "one"}}, false, false},
		"its run has ended":      {[]history.Event{ill, {Kind: history.RunEnded, Run: "one"}}, false, false},
		"it was started again":   {[]history.Event{ill, {Kind: history.Launched, Run: "two"}}, false, false},
		"of another run":         {[]history.Event{{Kind: history.Unhealthy, Run: "zero"}}, false, false},
	} {
		got, escalated := activity.Illness(rec, c.past)
		if (got != nil) != c.ill || got != nil && got.Reason != "hung" || escalated != c.escalated {
			t.Errorf("%s: %+v, %v", name, got, escalated)
		}
	}
}
