package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// TestPlanShowsWhatIsReviewed checks that the plan of a new session, even with an approved held
// start, shows what it runs and can reach, without the values of variables.
func TestPlanShowsWhatIsReviewed(t *testing.T) {
	api := session.Single("api")
	after := session.Spec{
		Address: api, Agent: session.AgentSpec{Name: "mine", Command: []string{"sh", "-c", "fetch it"}, Env: map[string]string{"C": "hidden"}},
		Args: []string{"--fast"}, Env: map[string]string{"A": "hidden", "B": "hidden"}, Secrets: []string{"TOKEN"}, InheritEnv: []string{"HTTP_*"},
		SecretRefs: map[string]session.SecretRef{"KEY": {Name: "team", Key: "key"}},
		Workspace:  session.Workspace{Mode: session.Worktree, Path: "/w", Setup: []string{"make", "deps"}},
		Timeout:    session.Duration(2 * time.Hour),
		Runtime: session.RuntimeSpec{Kind: "docker", Name: "box", Docker: &session.DockerConfig{
			Image: "node:22", Network: "none", Mounts: []session.Mount{{Source: "/etc/ssl", Target: "/ssl"}}}},
	}
	want := []string{
		`agent.command:`, `["sh", "-c", "fetch it"]`, `args:`, `["--fast"]`, `env:`, `A, B`, `agent.env:`, `C`, `secrets:`, `["TOKEN"]`, `["HTTP_*"]`,
		`KEY (team, key)`, `["make", "deps"]`, `2h`, `"node:22"`, `"none"`, `"/etc/ssl"`,
	}
	for _, c := range []plan.Change{
		{Address: api, Action: plan.Create, Reason: plan.ReasonNew, After: &after},
		{Address: api, Action: plan.Hold, Holds: plan.Create, Reason: plan.ReasonDependency, After: &after},
	} {
		var b bytes.Buffer
		if err := Plan(&b, Style{Width: 120}, plan.Plan{Complete: true, Changes: []plan.Change{c}}, false); err != nil {
			t.Fatal(err)
		}
		for _, one := range want {
			if !strings.Contains(b.String(), one) {
				t.Errorf("%s: %s is not shown", c.Action, one)
			}
		}
		if strings.Contains(b.String(), "hidden") || t.Failed() {
			t.Fatalf("%s", b.String())
		}
	}
}
