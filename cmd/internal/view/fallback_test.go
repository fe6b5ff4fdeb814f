package view

import (
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// TestFallback checks that plan, show and status say that another agent continues the work of a session.
func TestFallback(t *testing.T) {
	r := record("session.api", "agents/api")
	f := session.Fallback{Agent: "codex", Instead: session.OwnAgent{Agent: r.Spec.Agent}, Since: ago(time.Hour), Until: ago(-2 * time.Hour)}
	r.Fallback = &f
	x := status.Of(status.Input{At: at, Record: r, Diagnosis: plan.Diagnosis{State: session.StateRunning, Alive: new(true)}})
	if x.Agent != "codex" || x.Fallback == nil || x.Fallback.Instead != r.Spec.Agent.Name || x.Why != f.String() {
		t.Errorf("its document: %q, %+v, %q", x.Agent, x.Fallback, x.Why)
	}
	var b strings.Builder
	if err := Show(&b, Style{}, status.Detail{Session: x, Record: r}, at); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "codex instead of "+r.Spec.Agent.Name+", since 08:26:53 (its quota resets 11:26:53)") {
		t.Errorf("show:\n%s", b.String())
	}
	b.Reset()
	p := plan.Plan{Complete: true, At: at, Changes: []plan.Change{{Address: r.Address, Action: plan.None, Reason: plan.ReasonFallback, Detail: "runs " + f.String(), Before: r, After: &r.Spec}}}
	if err := Plan(&b, Style{}, p, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "» session.api runs codex instead of "+r.Spec.Agent.Name+", whose quota resets at") || !strings.Contains(b.String(), "No changes") {
		t.Errorf("plan:\n%s", b.String())
	}
}
