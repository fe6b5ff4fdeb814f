//go:build real

package proc

import (
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/wait"
)

func TestEndTreeLeavesNothing(t *testing.T) {
	// The child leaves the tree when its parent dies, and ignores signals.
	cmd := exec.Command("sh", "-c", `setsid sh -c 'trap "" TERM HUP; while :; do sleep 0.05; done' & wait`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	start, _ := StartTime(cmd.Process.Pid)
	root := Process{PID: cmd.Process.Pid, Start: start}
	var below []Stat
	wait.For(t, "two processes are below", func() (any, bool) { below = Descendants(root.PID); return below, len(below) >= 2 })
	killed, err := EndTree(t.Context(), root, "SIGTERM", 200*time.Millisecond, nil)
	if err != nil || !killed {
		t.Errorf("killed %v, %v", killed, err)
	}
	if _, living := tree(append([]Process{root}, below[0].Process, below[1].Process), nil); len(living) != 0 {
		t.Errorf("left: %v", living)
	}
	if _, err := EndTree(t.Context(), root, "SIGSTOP", 0, nil); err == nil {
		t.Error("a signal that ends nothing was taken")
	}
}

func TestEndTreeLeavesWhatIsShared(t *testing.T) {
	cmd := exec.Command("sh", "-c", `sh -c 'sleep 60 & wait' shared & sleep 60 & wait`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	start, _ := StartTime(cmd.Process.Pid)
	var below []Stat
	wait.For(t, "each is its program", func() (any, bool) {
		var programs []string
		below = Descendants(cmd.Process.Pid)
		for _, s := range below {
			programs = append(programs, strings.Join(Argv(s.PID), " "))
		}
		slices.Sort(programs)
		return programs, slices.Equal(programs, []string{"sh -c sleep 60 & wait shared", "sleep 60", "sleep 60"})
	})
	shared := func(argv []string) bool { return slices.Contains(argv, "shared") }
	if _, err := EndTree(t.Context(), Process{PID: cmd.Process.Pid, Start: start}, "SIGTERM", time.Second, shared); err != nil {
		t.Fatal(err)
	}
	var left []Process
	for _, s := range below {
		if s.Process.Alive() {
			left = append(left, s.Process)
			_ = syscall.Kill(s.PID, syscall.SIGKILL)
		}
	}
	if len(left) != 2 {
		t.Errorf("%d processes are left of %v, want the shared one and its child", len(left), below)
	}
}
