//go:build real

package proc

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestSweepFindsOnlyItsRun(t *testing.T) {
	start := func(run string) (*exec.Cmd, Process) {
		cmd := exec.Command("sh", "-c", "trap '' TERM; env -u AGENTFORM_RUN sleep 60 & wait; wait")
		cmd.Env = append(os.Environ(), "AGENTFORM_RUN="+run)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		s, _ := ReadStat(cmd.Process.Pid)
		go cmd.Process.Wait()
		return cmd, s.Process
	}
	_, ours := start("sweep-1")
	_, also := start("sweep-2")
	other, theirs := start("sweep-10")
	var below []Stat
	for len(below) == 0 { // the child without the mark
		below = Descendants(ours.PID)
	}
	for _, run := range []string{"sweep-1", "sweep-2"} {
		if left, err := Sweep(run, 50*time.Millisecond, ""); err != nil || len(left) != 0 {
			t.Fatalf("left %v: %v", left, err)
		}
	}
	if ours.Alive() || also.Alive() || below[0].Process.Alive() || !theirs.Alive() {
		t.Errorf("alive: %v, %v, its child %v; the other run's %v", ours.Alive(), also.Alive(), below[0].Process.Alive(), theirs.Alive())
	}
	if _, err := Sweep("../x", 0, ""); err == nil {
		t.Error("a run id with a slash is taken")
	}
	for _, d := range Descendants(other.Process.Pid) {
		syscall.Kill(d.PID, syscall.SIGKILL)
	}
}
