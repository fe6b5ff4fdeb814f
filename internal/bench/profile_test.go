package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// profile runs agentform once more, and says where its time goes: how much of it
// agentform itself computes, and in what.
func (p project) profile(t *testing.T, args ...string) string {
	t.Helper()
	program, file := filepath.Join(t.TempDir(), "profiled"), filepath.Join(t.TempDir(), "cpu")
	build := exec.Command("go", "build", "-o", program, "../profiled")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	c := p.command(append([]string{program}, args...)...)
	c.Env = append(c.Env[:len(c.Env):len(c.Env)], "CPUPROFILE="+file)
	began := time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	elapsed := time.Since(began)
	own := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	says := fmt.Sprintf("Of %s, agentform computes for %s", Time(elapsed), Time(own))
	out, err := exec.Command("go", "tool", "pprof", "-top", "-nodecount", "6", program, file).Output()
	if err != nil {
		t.Fatalf("pprof: %v", err)
	}
	var top []string
	_, table, _ := strings.Cut(string(out), "flat%")
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) >= 6 && strings.HasSuffix(f[1], "%") {
			top = append(top, fmt.Sprintf("`%s` %s", strings.Join(f[5:], " "), f[1]))
		}
	}
	if len(top) > 0 {
		says += ": " + strings.Join(top, ", ")
	}
	return says + "; for the rest of the time it waits."
}
