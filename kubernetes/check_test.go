package kubernetes

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestCheck checks that the request with which a session is checked is as strict as the one that creates it: a
// replacement ends the agent in between.
func TestCheck(t *testing.T) {
	_, c := newAPI(t)
	spec := session.Spec{Address: "session.a", Workspace: session.Workspace{Path: "/agentform/workspaces/a/b"},
		Runtime: session.RuntimeSpec{Kind: "kubernetes", Kubernetes: &session.KubernetesConfig{Image: "a:1"}}}
	if err := c.runtime(Config{Lineage: "lineage"}).Check(t.Context(), spec, nil); err != nil {
		t.Error(err)
	}
	spec.Env = map[string]string{"TEXT": strings.Repeat("x", 300<<10)}
	if err := c.runtime(Config{Lineage: "lineage"}).Check(t.Context(), spec, nil); err == nil || !strings.Contains(err.Error(), "300 KiB") {
		t.Errorf("a record that is too long: %v", err)
	}
}
