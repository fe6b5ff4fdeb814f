//go:build real

package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	tooMuch = 70 // percent: more than that is what does all the rest
	told    = 7  // parts
)

// profile runs agentform so many times more, and says where its time goes: how much of
// it agentform itself computes, and in what. A profile has a sample every 10 ms, so
// what is short has to be done often.
func (p project) profile(t *testing.T, times int, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	var elapsed, own time.Duration
	top := []string{"tool", "pprof", "-top", "-cum", "-nodecount", "1000"}
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
	calls, last, found := "0%", 0., []string(nil)
	_, table, _ := strings.Cut(string(out), "cum%")
	for line := range strings.Lines(table) {
		f := strings.Fields(line) // flat, its share, their sum, with what it calls, its share, the name
		if len(f) < 6 {
			continue
		}
		if f[5] == "internal/runtime/syscall/linux.Syscall6" {
			calls = f[1]
		}
		// What is nearly all of it says nothing, nor does what only hands on to the next.
		share, _ := strconv.ParseFloat(strings.TrimSuffix(f[4], "%"), 64)
		name, ours := strings.CutPrefix(f[5], "github.com/agentform/agentform/")
		if ours && share < tooMuch && share != last && len(found) < told && !strings.Contains(name, ".func") && !strings.HasPrefix(name, "cmd/internal/cli.") {
			found, last = append(found, fmt.Sprintf("`%s` %.0f %%", name, share)), share
		}
	}
	each := time.Duration(times)
	return fmt.Sprintf("Of %s under the profiler, agentform and what it starts compute for %s, %s of agentform's part in system calls. Its largest parts, each with what it calls: %s.",
		Time(elapsed/each), Time(own/each), calls, strings.Join(found, ", "))
}
