package view

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
)

// An agent's screen is shown unchanged, including its paths.
func TestScreenIsNotRewritten(t *testing.T) {
	var out strings.Builder
	x := status.Detail{Session: api.Session{Address: "session.api", Workspace: "/src/shop/w"}, Screen: "reads /src/shop/w/main.go\n"}
	if err := Show(&out, Style{Dir: "/src/shop"}, x, at); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "│ reads /src/shop/w/main.go") || strings.Contains(got, "workspace:    /src") {
		t.Error(got)
	}
}

// A full plan marks as unchanged only what is compared, and shows the attributes of a new session
// once.
func TestFullPlanSaysOnlyWhatItKnows(t *testing.T) {
	made := spec("session.new", "agents/new")
	p := plan.Plan{Complete: true, Changes: []plan.Change{
		{Address: "session.other", Action: plan.None, Reason: plan.ReasonNotTargeted, Detail: "not targeted", Before: record("session.other", "o")},
		{Address: "session.off", Action: plan.None, Reason: plan.ReasonStop, Detail: "declared stopped", After: wanted(spec("session.off", "off"))},
		{Address: "session.new", Action: plan.Create, Reason: plan.ReasonNew, After: &made,
			Fields: []plan.Field{{Path: "branch", After: "agents/new", Forces: plan.ForcesNothing}}},
	}}
	for _, full := range []bool{true, false} {
		var out strings.Builder
		if err := Plan(&out, Style{}, p, full); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if strings.Contains(got, "unchanged") || strings.Contains(got, "session.other") || strings.Count(got, `"agents/new"`) != 1 {
			t.Errorf("full %t:\n%s", full, got)
		}
		if strings.Contains(got, "session.off does not exist: declared stopped") != full {
			t.Errorf("full %t:\n%s", full, got)
		}
	}
}
