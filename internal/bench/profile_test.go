package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// profile runs agentform so many times more, and says where its time goes: how much of
// it agentform itself computes, and in what. A profile has a sample every 10 ms, so
// what is short has to be done often.
func (p project) profile(t *testing.T, times int, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	var elapsed, own time.Duration
	top := []string{"tool", "pprof", "-top", "-nodecount", "6"}
	for i := range times {
		file := filepath.Join(dir, fmt.Sprint(i))
		c := p.command(append([]string{"profiled"}, args...)...)
		c.Env = append(c.Env[:len(c.Env):len(c.Env)], "CPUPROFILE="+file)
		began := time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		elapsed += time.Since(began)
		own += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		top = append(top, file)
	}
	out, err := exec.Command("go", top...).Output()
	if err != nil {
		return fmt.Sprintf("No profile: pprof: %v.", err)
	}
	var found []string
	_, table, _ := strings.Cut(string(out), "flat%")
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) >= 6 && strings.HasSuffix(f[1], "%") {
			found = append(found, fmt.Sprintf("`%s` %s", strings.Join(f[5:], " "), f[1]))
		}
	}
	each := time.Duration(times)
	return fmt.Sprintf("Of %s under the profiler, agentform and what it starts compute for %s; agentform's part: %s.",
		Time(elapsed/each), Time(own/each), strings.Join(found, ", "))
}
