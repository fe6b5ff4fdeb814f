// Package examples_test loads every example: none may have an error.
package examples_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/session"
)

func TestExamplesLoad(t *testing.T) {
	want := map[string]int{"quickstart.hcl": 3, "pipeline.hcl": 4, "team.hcl": 4, "docker.hcl": 3, "docker-elsewhere.hcl": 3, "kubernetes.hcl": 3}
	files, err := filepath.Glob("*.hcl")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(want) {
		t.Errorf("examples are %q, want the %d that this test knows", files, len(want))
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			m, problems := config.Load(config.Options{
				Dir: "..", Files: []string{filepath.Join("examples", file)},
				Environ: os.Environ(), Builtins: agent.Builtins(), Version: "0.1.0",
			})
			for _, p := range problems {
				if p.Severity == session.Error {
					t.Error(p)
				}
			}
			if m == nil {
				t.Fatal("no manifest")
			}
			if len(m.Sessions) != want[file] {
				t.Errorf("%d sessions, want %d", len(m.Sessions), want[file])
			}
		})
	}
}

func TestExamplesAreFormatted(t *testing.T) {
	files, err := filepath.Glob("*.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out, err := config.Format(src)
		if err != nil {
			t.Fatal(err)
		}
		if string(out) != string(src) {
			t.Errorf("%s is not formatted; agentform fmt gives:\n%s", file, out)
		}
	}
}
