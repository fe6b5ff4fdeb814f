//go:build real

package proc

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestEndTreeLeavesNothing(t *testing.T) {
	// The child leaves the tree when its parent dies, and takes no signal.
	cmd := exec.Command("sh", "-c", `setsid sh -c 'trap "" TERM HUP; while :; do sleep 0.05; done' & wait`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	start, _ := StartTime(cmd.Process.Pid)
	root := Process{PID: cmd.Process.Pid, Start: start}
	var below []Stat
	for end := time.Now().Add(time.Minute); len(below) < 2; time.Sleep(5 * time.Millisecond) {
		if below = Descendants(root.PID); time.Now().After(end) {
			t.Fatal("it starts nothing")
		}
	}
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
	for end := time.Now().Add(time.Minute); len(below) < 3; time.Sleep(5 * time.Millisecond) {
		if below = Descendants(cmd.Process.Pid); time.Now().After(end) {
			t.Fatal("it starts nothing")
		}
	}
	time.Sleep(50 * time.Millisecond) // each is its program
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
