package preflight

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/secret"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/session"
)

// TestOneLoginOfMany checks that each session is examined with its own environment.
func TestOneLoginOfMany(t *testing.T) {
	bin, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	vars := environ.Vars{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "OWN_KEY=k"}
	h := Host{Environ: vars, Dir: t.TempDir(), Secrets: secret.New(vars, "", nil), Manifest: &config.Manifest{}}
	spec := func(address session.Address, change func(*session.Spec)) session.Spec {
		s := session.Spec{Address: address, Agent: agent.Builtins()[agent.Claude], Workspace: session.Workspace{Path: t.TempDir(), Repo: bin}}
		change(&s)
		return s
	}
	lacking := func(*session.Spec) {}
	specs := []session.Spec{
		spec("a", lacking),
		spec("b", func(s *session.Spec) { s.Env = map[string]string{"ANTHROPIC_API_KEY": "k"} }),
		spec("c", lacking),
		spec("d", func(s *session.Spec) { s.Agent.Env = map[string]string{"ANTHROPIC_API_KEY": "k"} }),
		spec("e", func(s *session.Spec) { s.Secrets = []string{"ANTHROPIC_AUTH_TOKEN"} }),
		spec("f", lacking),
		spec("g", func(s *session.Spec) {
			settings := filepath.Join(s.Workspace.Path, ".claude", "settings.json")
			if err := os.Mkdir(filepath.Dir(settings), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(settings, []byte(`{"apiKeyHelper":"key"}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}),
	}
	var reported []string
	for _, d := range h.Sessions(specs, session.Warning) {
		if strings.Contains(d.Summary, "not logged in") {
			_, needed, _ := strings.Cut(d.Detail, "needed by ")
			reported = append(reported, needed)
		}
	}
	if len(reported) != 1 || reported[0] != "a, c, f" {
		t.Errorf("not logged in: %q, want a, c, f", reported)
	}
}
