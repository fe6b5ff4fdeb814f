//go:build real

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// idleFor is how long the hub is watched while nothing happens: some sweeps.
	idleFor = 60 * time.Second
	// The goals: of a core, of memory, and until the end of an agent is noticed.
	idleCPU     = 0.01
	idleMemory  = 80 << 20
	noticedSoon = time.Second
)

// hubIdle is `agentform serve` beside sessions that do nothing, with the default
// interval of 10 s: how much of a core it takes, the tmux clients that it starts
// included, how much memory, and how soon it notices that an agent was killed.
func hubIdle(t *testing.T, m *measurement) {
	n, watched := 100, 5*time.Second
	if m.full {
		n, watched = *most, idleFor
	}
	p := newRepository(t, m.bin)
	p.destroyed(t)
	p.manifest(t, n, fmt.Sprintf(`
session "s" {
  count = %d
  agent = agent.idle
  workspace {
    mode = "plain"
  }
}
`, n))
	p.run(t, "agentform", "apply", "--auto-approve")
	hub := p.command("agentform", "serve", "--log-file", filepath.Join(p.dir, "hub.log"))
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = hub.Process.Signal(syscall.SIGTERM)
		_ = hub.Wait()
	}()
	p.logged(t, "msg=supervising", time.Minute)
	time.Sleep(2 * time.Second) // what the first look left is collected
	before := processorTime(t, hub.Process.Pid)
	time.Sleep(watched)
	share := (processorTime(t, hub.Process.Pid) - before).Seconds() / watched.Seconds()
	memory := float64(residentMost(t, hub.Process.Pid))
	pid := p.agent(t)
	began := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.logged(t, "msg=held", 30*time.Second)
	noticed := time.Since(began)

	beside := fmt.Sprintf("the hub, %d idle tmux sessions: ", n)
	m.add(Row{Work: beside + "processor", Took: Quantity{share, Share}, Shown: true,
		Goals:  []Goal{{Says: "≤ 1 % of a core", Got: 100 * share, Bound: 100 * idleCPU}},
		Missed: "Every ten seconds it asks tmux for all panes, reads the HEAD of each workspace and what the hooks and the agents told, and computes the plan."})
	m.add(Row{Work: beside + "memory", Took: Memory(memory), Shown: true,
		Goals: []Goal{{Says: "≤ 80 MiB", Got: memory / (1 << 20), Bound: idleMemory >> 20}}})
	m.add(Row{Work: beside + "a killed agent is noticed", Took: Time(noticed), Shown: true,
		Goals: []Goal{{Says: "≤ 1 s", Got: noticed.Seconds(), Bound: noticedSoon.Seconds()}}})
}

// logged waits until the hub's log says something.
func (p project) logged(t testing.TB, what string, patience time.Duration) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(p.dir, "hub.log"))
		if err == nil && strings.Contains(string(text), what) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %s in the hub's log: %s\n%s", patience, what, text)
		}
	}
}

// agent is the process of some session's agent.
func (p project) agent(t testing.TB) int {
	t.Helper()
	out, err := p.command("agentform", "status", "--json", "s[0]").Output()
	var status struct{ Sessions []struct{ PID int } }
	if err != nil || json.Unmarshal(out, &status) != nil || len(status.Sessions) != 1 || status.Sessions[0].PID <= 1 {
		t.Fatalf("status: %v\n%s", err, out)
	}
	return status.Sessions[0].PID
}

// processorTime is what a process and its children that have ended took so far.
func processorTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const tick = time.Second / 100 // USER_HZ
	var all time.Duration
	for _, f := range fields[11:15] {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		all += time.Duration(n) * tick
	}
	return all
}

// residentMost is the most memory that a process has had so far, in bytes.
func residentMost(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
