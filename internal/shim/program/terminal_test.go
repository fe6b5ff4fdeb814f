//go:build real

package program

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/test/wait"

	"github.com/creack/pty"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// terminal starts the shim as tmux does: as leader of its own session, on a pty. The pty's output
// is in the buffer once the pty is closed.
func (r *room) terminal() (*exec.Cmd, *os.File) {
	r.t.Helper()
	cmd := exec.Command(program, r.dir)
	tty, err := pty.Start(cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { tty.Close(); cmd.Process.Kill() })
	wait.For(r.t, "the agent is up", func() (any, bool) {
		_, err := os.Stat(filepath.Join(r.work, "up"))
		return err, err == nil
	})
	return cmd, tty
}

func TestKeysReachTheAgentOnly(t *testing.T) {
	r := prepare(t, `trap 'echo int >> got' INT; trap 'echo quit >> got' QUIT; trap 'echo tstp >> got' TSTP
		touch up; read line; read line; read line; read line; echo "$line" > line; exit 4`, nil)
	cmd, tty := r.terminal()
	got := ""
	for key, name := range map[string]string{"\x03": "int", "\x1c": "quit", "\x1a": "tstp"} {
		if _, err := tty.WriteString(key); err != nil {
			t.Fatal(err)
		}
		wait.For(t, name+" arrives", func() (any, bool) {
			b, _ := os.ReadFile(filepath.Join(r.work, "got"))
			got = string(b)
			return got, strings.Contains(got, name)
		})
	}
	for range 4 {
		tty.WriteString("hello\n")
	}
	if status, exit := r.ended(cmd); status.ExitStatus() != 4 || exit.Cause != rundir.CauseSelf {
		t.Errorf("left with %v, exit is %+v, agent got %q", status, exit, got)
	}
}

func TestAgentKillsItsProcessGroup(t *testing.T) {
	for _, sig := range []string{"TERM", "INT", "QUIT", "USR1", "ALRM", "TSTP"} {
		r := prepare(t, "trap '' "+sig+"; touch up; sleep 0.05; kill -"+sig+" 0; exit 5", nil)
		if status, exit := r.ended(r.start()); status.ExitStatus() != 5 || exit.Cause != rundir.CauseSelf || exit.Code != 5 {
			t.Errorf("%s: left with %v, exit is %+v", sig, status, exit)
		}
	}
}

func TestHangup(t *testing.T) {
	t.Run("terminal closed, agent dies of it", func(t *testing.T) {
		r := prepare(t, "touch up; sleep 60; exit 0", nil)
		cmd, tty := r.terminal()
		tty.Close()
		if _, exit := r.ended(cmd); exit.Cause != rundir.CauseHangup {
			t.Errorf("exit is %+v", exit)
		}
	})
	t.Run("agent ignores it", func(t *testing.T) {
		r := prepare(t, "trap '' HUP; touch up; sleep 60 & wait; wait; wait", nil)
		cmd, tty := r.terminal()
		f := r.agent()
		tty.Close()
		if status, exit := r.ended(cmd); exit.Cause != rundir.CauseHangup || exit.Signal != "SIGTERM" || status.Signal() != syscall.SIGTERM || f.Agent.Alive() {
			t.Errorf("left with %v, exit is %+v", status, exit)
		}
	})
}

func TestShimKilledTakesTheAgentAlong(t *testing.T) {
	r := prepare(t, "sleep 60 & echo $! > child; touch up; wait", nil)
	cmd, f := r.running()
	child := r.pid("child")
	cmd.Process.Kill()
	cmd.Wait()
	wait.For(t, "the agent is dead", func() (any, bool) { return f.Agent, !f.Agent.Alive() })
	if f, err := rundir.ReadFacts(r.dir); err != nil || !f.Claimed || f.Exit != nil || f.Agent.Alive() || f.Shim.Alive() {
		t.Errorf("facts are %+v, %v", f, err)
	}
	if left, err := proc.Sweep(r.config.Run, 0, ""); err != nil || child.Alive() {
		t.Errorf("left after the sweep: %v, %v, child alive: %v", left, err, child.Alive())
	}
	if err := rundir.Discard(r.dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(r.config.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if cmd := r.start(); cmd.Wait() == nil || cmd.ProcessState.ExitCode() != codeTaken {
		t.Errorf("the run was started again: %v", cmd.ProcessState)
	}
}

// An agent that cannot be recorded is ended.
func TestRunThatCannotBeRecorded(t *testing.T) {
	r := prepare(t, "echo $$ > pid; exec sleep 60", nil)
	if err := os.Mkdir(filepath.Join(r.dir, rundir.RunFile), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := r.start()
	cmd.Wait()
	if err := os.Remove(filepath.Join(r.dir, rundir.RunFile)); err != nil {
		t.Fatal(err)
	}
	if status, exit := r.ended(cmd); status.ExitStatus() != shim.ExitCannot || exit.Cause != rundir.CauseFailedStart || !strings.Contains(exit.Detail, "write run") {
		t.Errorf("left with %v, exit is %+v", status, exit)
	}
	if left, err := proc.Sweep(r.config.Run, 0, ""); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
