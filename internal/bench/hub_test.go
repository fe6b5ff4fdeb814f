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

// BenchmarkHubIdle is `agentform serve` beside sessions that do nothing, with the
// default interval of 10 s: how much of a core it takes, the tmux clients that it
// starts included, how much memory, and how soon it notices that an agent was killed.
// It fails past twice each goal. AGENTFORM_BENCH_SESSIONS is how many there are; 1000
// if it is not set.
func BenchmarkHubIdle(b *testing.B) {
	sessions := 1000
	if n, err := strconv.Atoi(os.Getenv("AGENTFORM_BENCH_SESSIONS")); err == nil && n > 0 {
		sessions = n
	}
	p := newProject(b, 1)
	manifest := fmt.Sprintf(`
agentform {
  max_running = %[1]d
}
agent "idle" {
  command    = ["sleep", "100000"]
  prompt_via = "none"
}
session "s" {
  count = %[1]d
  agent = agent.idle
  workspace {
    mode = "plain"
  }
}
`, sessions)
	if err := os.WriteFile(filepath.Join(p.dir, "agentform.hcl"), []byte(manifest), 0o600); err != nil {
		b.Fatal(err)
	}
	p.run(b, "agentform", "apply", "--auto-approve")
	b.Cleanup(func() { p.run(b, "agentform", "destroy", "--auto-approve") })
	hub := p.command("agentform", "serve", "--log-file", filepath.Join(p.dir, "hub.log"))
	if err := hub.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = hub.Process.Signal(syscall.SIGTERM)
		_ = hub.Wait()
	})
	p.logged(b, "msg=supervising", time.Minute)

	var share, noticed float64
	var memory int
	for b.Loop() {
		time.Sleep(2 * time.Second) // what the first look left is collected
		before := processorTime(b, hub.Process.Pid)
		time.Sleep(idleFor)
		share = (processorTime(b, hub.Process.Pid) - before).Seconds() / idleFor.Seconds()
		memory = residentMost(b, hub.Process.Pid)
		pid := p.agent(b)
		began := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			b.Fatal(err)
		}
		p.logged(b, "msg=held", 30*time.Second)
		noticed = time.Since(began).Seconds()
	}
	b.ReportMetric(100*share, "%-of-a-core")
	b.ReportMetric(float64(memory)/(1<<20), "MiB")
	b.ReportMetric(1000*noticed, "noticed-ms")
	if share > 2*idleCPU || memory > 2*idleMemory || noticed > 2*noticedSoon.Seconds() {
		b.Errorf("%d idle sessions take %.2f %% of a core and %d MiB, and an agent's end is noticed after %.2f s; the goals are %.0f %%, %d MiB and %s",
			sessions, 100*share, memory>>20, noticed, 100*idleCPU, idleMemory>>20, noticedSoon)
	}
}

// logged waits until the hub's log says something.
func (p project) logged(b *testing.B, what string, patience time.Duration) {
	b.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(p.dir, "hub.log"))
		if err == nil && strings.Contains(string(text), what) {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("not within %s in the hub's log: %s\n%s", patience, what, text)
		}
	}
}

// agent is the process of some session's agent.
func (p project) agent(b *testing.B) int {
	b.Helper()
	out, err := p.command("agentform", "status", "--json", "s[0]").Output()
	var status struct{ Sessions []struct{ PID int } }
	if err != nil || json.Unmarshal(out, &status) != nil || len(status.Sessions) != 1 || status.Sessions[0].PID <= 1 {
		b.Fatalf("status: %v\n%s", err, out)
	}
	return status.Sessions[0].PID
}

// processorTime is what a process and its children that have ended took so far.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const tick = time.Second / 100 // USER_HZ
	var all time.Duration
	for _, f := range fields[11:15] {
		n, err := strconv.Atoi(f)
		if err != nil {
			b.Fatal(err)
		}
		all += time.Duration(n) * tick
	}
	return all
}

// residentMost is the most memory that a process has had so far, in bytes.
func residentMost(b *testing.B, pid int) int {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return n << 10
		}
	}
	b.Fatal("no VmHWM")
	return 0
}
