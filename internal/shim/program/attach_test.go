//go:build real

package program

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/test/wait"

	"github.com/agentform/agentform/internal/proc"
)

// TestAttachCommand checks that the command of shim.AttachMode runs with the mark and keeps its
// exit status, with and without an init.
func TestAttachCommand(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "g") // short, for socket paths
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	first := exec.Command(program, shim.InitMode, dir)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Wait()
	defer first.Process.Kill()
	wait.For(t, "the init answers", func() (any, bool) { _, err := (shim.Init{Dir: dir}).Hello(t.Context()); return err, err == nil })
	for _, dir := range []string{dir, "/nowhere"} {
		out, err := exec.Command(program, shim.AttachMode, dir, "sh", "-c", "echo is $"+shim.ClientVariable+"; exit 7").CombinedOutput()
		exit, _ := errors.AsType[*exec.ExitError](err)
		if name, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "is "); exit == nil || exit.ExitCode() != 7 || !ok || !proc.ValidRun(name) {
			t.Errorf("with an init in %s: %q, %v", dir, out, err)
		}
	}
	out, err := exec.Command(program, shim.AttachMode, "/nowhere", "no-such-command").CombinedOutput()
	if exit, _ := errors.AsType[*exec.ExitError](err); exit == nil || exit.ExitCode() != shim.ExitNotFound || !strings.Contains(string(out), "no-such-command") {
		t.Errorf("a command that is not there: %q, %v", out, err)
	}
}
