//go:build kubernetes

package kubernetes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentform/agentform/internal/test/relaytest"
	"github.com/agentform/agentform/session"
)

func TestTerminalIsRelayed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	program := filepath.Join(t.TempDir(), "agentform")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/agentform/agentform/cmd/agentform").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Setenv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH")); err != nil { // all tests' runtimes call it by its name
		t.Fatal(err)
	}
	p := b.create(t, b.launch("relayed"))
	b.listening(t, p)
	relaytest.Test(t, b.runtime.Attach(p), func() session.Live {
		lives, err := b.runtime.Observe(t.Context(), true) // without screens the size of a pod's window is not read
		if err != nil || len(lives) != 1 {
			t.Fatalf("observe: %v, %v", lives, err)
		}
		return lives[0]
	})
}
