//go:build kubernetes

package kubernetes_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agentform/agentform/internal/test/relaytest"
	"github.com/agentform/agentform/session"
)

// onPath builds agentform into a directory of PATH: all tests' runtimes call it by its name.
func onPath(t *testing.T) {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
}

var built = sync.OnceValue(func() error {
	program := filepath.Join(dataDir, "path", "agentform")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/agentform/agentform/cmd/agentform").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return os.Setenv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH"))
})

func TestTerminalIsRelayed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	onPath(t)
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
