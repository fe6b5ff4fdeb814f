package shim

import (
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestAdoptedRun(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, _ := StartTime(cmd.Process.Pid)
	agent := Proc{PID: cmd.Process.Pid, Start: start}
	dir := filepath.Join(t.TempDir(), "run")
	since := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	c := Config{Run: "00ff", Address: "session.api", Dir: "/", Socket: "/tmp/none/g-00ff", Argv: []string{"sleep", "60"}}
	if err := Adopt(dir, c, agent, since); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFacts(dir)
	if err != nil || !f.Adopted() || f.Agent != agent || !f.StartedAt.Equal(since) || f.BootID != BootID() || f.Exit != nil {
		t.Errorf("%+v, %v", f, err)
	}
	if got := Seen(agent.PID); !slices.Equal(got.Argv, c.Argv) || got.Dir == "" {
		t.Errorf("seen: %+v", got)
	}
	if _, _, ok := Corpse(agent); ok {
		t.Error("it lives, and was taken for dead")
	}
	if err := Adopt(dir, c, agent, since); err == nil {
		t.Error("a run was claimed twice")
	}
	// Nobody has waited for it yet: what is left of it tells how it ended.
	if err := syscall.Kill(agent.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); agent.Alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it outlives SIGKILL")
		}
	}
	if code, signal, ok := Corpse(agent); !ok || code != 0 || signal != "SIGKILL" {
		t.Errorf("it left with %d, %q, %v", code, signal, ok)
	}
	_ = cmd.Wait()
	if _, _, ok := Corpse(agent); ok {
		t.Error("it is gone for good, and was still seen")
	}
	for _, e := range []Exit{{Cause: CauseRequested, Signal: "SIGTERM"}, {Cause: CauseSelf}} {
		if err := WriteExit(dir, e); err != nil {
			t.Fatal(err)
		}
	}
	if f, _ := ReadFacts(dir); f.Exit == nil || f.Exit.Cause != CauseRequested {
		t.Errorf("the first exit was overwritten: %+v", f.Exit)
	}
}

func TestEndTreeLeavesNothing(t *testing.T) {
	// The child leaves the tree when its parent dies, and takes no signal.
	cmd := exec.Command("sh", "-c", `setsid sh -c 'trap "" TERM HUP; while :; do sleep 0.05; done' & wait`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	start, _ := StartTime(cmd.Process.Pid)
	root := Proc{PID: cmd.Process.Pid, Start: start}
	var below []sight
	for end := time.Now().Add(5 * time.Second); len(below) < 2; time.Sleep(5 * time.Millisecond) {
		if below = descendants(root.PID); time.Now().After(end) {
			t.Fatal("it starts nothing")
		}
	}
	killed, err := EndTree(t.Context(), root, "SIGTERM", 200*time.Millisecond)
	if err != nil || !killed {
		t.Errorf("killed %v, %v", killed, err)
	}
	if _, living := tree(append([]Proc{root}, below[0].proc(), below[1].proc())); len(living) != 0 {
		t.Errorf("left: %v", living)
	}
	if _, err := EndTree(t.Context(), root, "SIGSTOP", 0); err == nil {
		t.Error("a signal that ends nothing was taken")
	}
}
