//go:build real

package rundir

import (
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/test/wait"
)

func TestAdoptedRun(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, _ := proc.StartTime(cmd.Process.Pid)
	agent := proc.Process{PID: cmd.Process.Pid, Start: start}
	dir := filepath.Join(t.TempDir(), "run")
	since := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	c := Config{Run: "00ff", Address: "session.api", Dir: "/", Socket: "/tmp/none/g-00ff", Argv: []string{"sleep", "60"}}
	if err := Adopt(dir, c, agent, since); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFacts(dir)
	if err != nil || !f.Adopted() || f.Agent != agent || !f.StartedAt.Equal(since) || f.BootID != proc.BootID() || f.Exit != nil {
		t.Errorf("%+v, %v", f, err)
	}
	var got proc.Info
	wait.For(t, "the kernel has set the arguments", func() (any, bool) { // after Start has returned
		got = proc.ReadInfo(agent.PID)
		return got, len(got.Argv) > 0
	})
	if !slices.Equal(got.Argv, c.Argv) || got.Dir == "" {
		t.Errorf("seen: %+v", got)
	}
	if _, _, ok := proc.ZombieExit(agent); ok {
		t.Error("it lives, and was taken for dead")
	}
	if err := Adopt(dir, c, agent, since); err == nil {
		t.Error("a run was claimed twice")
	}
	// Nobody has waited for it yet: its zombie shows how it ended.
	if err := syscall.Kill(agent.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "it is dead", func() (any, bool) { return agent, !agent.Alive() })
	if code, signal, ok := proc.ZombieExit(agent); !ok || code != 0 || signal != "SIGKILL" {
		t.Errorf("it left with %d, %q, %v", code, signal, ok)
	}
	_ = cmd.Wait()
	if _, _, ok := proc.ZombieExit(agent); ok {
		t.Error("it is gone for good, and was still seen")
	}
	for _, e := range []Exit{{Cause: CauseRequested, Signal: "SIGTERM"}, {Cause: CauseSelf}} {
		if err := EndAdopted(dir, e); err != nil {
			t.Fatal(err)
		}
	}
	if f, _ := ReadFacts(dir); f.Exit == nil || f.Exit.Cause != CauseRequested {
		t.Errorf("the first exit was overwritten: %+v", f.Exit)
	}
}
