package rundir

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
)

// A run whose directory was removed is found by its agent, and restored.
func TestRestoreARunThatLives(t *testing.T) {
	dir, run := t.TempDir(), fmt.Sprintf("lost-%d", os.Getpid())
	// The shell exits when its input ends. The agent's parent is not a shim, and the agent has a
	// child.
	agent := exec.Command("sh", "-c", "sh -c 'read line'; read line")
	agent.Dir = dir
	agent.Env = []string{"PATH=" + os.Getenv("PATH"), "PWD=" + dir, proc.RunVariable + "=" + run, SessionVariable + "=session.api", ProjectVariable + "=/shop"}
	input, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = input.Close(), agent.Wait() }()
	start, _ := proc.StartTime(agent.Process.Pid)
	want := Living{Run: run, Agent: proc.Process{PID: agent.Process.Pid, Start: start}, Session: "session.api", Project: "/shop", Dir: dir}
	found := LivingRuns(func(r string) bool { return r != run })
	if len(found) != 1 || found[0] != want {
		t.Fatalf("found %+v, want %+v", found, want)
	}
	if skipped := LivingRuns(func(string) bool { return true }); len(skipped) != 0 {
		t.Errorf("found %+v, which is to be skipped", skipped)
	}
	since, folder := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), filepath.Join(dir, "runs", run)
	if err := Restore(folder, found[0].Shim, found[0].Agent, since); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFacts(folder)
	if err != nil || !f.Claimed || f.Agent != want.Agent || !f.StartedAt.Equal(since) {
		t.Errorf("restored: %+v, %v", f, err)
	}
	if err := Restore(folder, found[0].Shim, found[0].Agent, since); err != nil {
		t.Errorf("restored a second time: %v", err)
	}
	if err := Restore(folder, found[0].Shim, proc.Process{PID: 1, Start: 1}, since); err == nil {
		t.Error("a run with another's claim was written over")
	}
}
