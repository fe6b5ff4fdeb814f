package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentform/agentform/session"
)

// cluster is a runtime that holds workspaces.
type cluster struct {
	session.Runtime
	session.WorkspaceHolder
	silent, broken error // of its sessions, and of its workspaces
	asked          int
}

func (c *cluster) Observe(context.Context, bool) ([]session.Live, error) { return nil, c.silent }

func (c *cluster) Workspaces(context.Context) ([]session.Checkout, error) {
	c.asked++
	if c.broken != nil {
		return nil, c.broken
	}
	return []session.Checkout{{Path: "/agentform/a", Exists: true, Git: true, Branch: "agents/a"}}, c.broken
}

// TestHeld checks what a look knows of workspaces that a runtime holds: nothing if the runtime does not answer, so that
// none of them counts as gone.
func TestHeld(t *testing.T) {
	away := session.RuntimeSpec{Kind: "kubernetes", Name: "team", Kubernetes: &session.KubernetesConfig{}}
	var specs []session.Spec
	for _, path := range []string{"/agentform/a", "/agentform/b"} {
		specs = append(specs, session.Spec{Address: session.Single("a"), Runtime: away, Workspace: session.Workspace{Mode: session.Clone, Path: path}})
	}
	fault := errors.New("down")
	for name, c := range map[string]struct {
		cluster cluster
		asked   int
		looked  bool
		fault   error
	}{
		"it answers":                {cluster{}, 1, true, nil},
		"it does not answer":        {cluster{silent: fault, broken: fault}, 0, false, nil},
		"it cannot list workspaces": {cluster{broken: fault}, 1, true, fault},
	} {
		h := &host{runtimes: map[string]session.Runtime{away.Key(): &c.cluster}}
		w := h.eyes().World(t.Context(), specs, nil, false)
		for path, exists := range map[string]bool{"/agentform/a": c.fault == nil, "/agentform/b": false} {
			co, looked := w.Checkouts[path]
			if looked != c.looked || looked && (co.Exists != exists || !errors.Is(co.Err, c.fault)) {
				t.Errorf("%s: %s is %+v, looked %v", name, path, co, looked)
			}
		}
		if c.cluster.asked != c.asked {
			t.Errorf("%s: its workspaces were asked for %d times", name, c.cluster.asked)
		}
	}
}
