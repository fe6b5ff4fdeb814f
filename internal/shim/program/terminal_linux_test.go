//go:build real

package program

import (
	"os/exec"
	"testing"

	"github.com/creack/pty"

	"github.com/agentform/agentform/internal/shim/rundir"
)

// TestHangupBeforeErrors checks that a run ends with its terminal even if a poll reports the hangup
// while the terminal still answers. The other end of a terminal is always in that state when the
// terminal is closed.
func TestHangupBeforeErrors(t *testing.T) {
	r := prepare(t, "touch up; sleep 60", nil)
	other, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	cmd := exec.Command(program, r.dir)
	cmd.Stdin = other
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	r.agent()
	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}
	if _, exit := r.ended(cmd); exit.Cause != rundir.CauseHangup {
		t.Errorf("exit is %+v", exit)
	}
}
