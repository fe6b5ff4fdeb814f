//go:build real

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// compose is how long process-compose takes until so many `sleep` run. It is 0 where
// process-compose is neither in the PATH nor in bin/.
func (p project) compose(t *testing.T, n int) time.Duration {
	t.Helper()
	program, err := exec.LookPath("process-compose")
	if err != nil {
		if program, err = filepath.Abs("../../../bin/process-compose"); err != nil || !isFile(program) {
			return 0
		}
	}
	var text strings.Builder
	text.WriteString("version: \"0.5\"\nprocesses:\n")
	for i := range n {
		fmt.Fprintf(&text, "  s%d:\n    command: exec sleep 100000\n", i)
	}
	p.write(t, "process-compose.yaml", text.String())
	socket := p.beside("compose")
	c := p.command(program, "-f", "process-compose.yaml", "-t=false", "-U", "-u", socket, "-L", p.beside("compose.log"), "up")
	// It ends its processes itself, and what outlives it goes with its group.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	began := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}()
	for end := began.Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if sleeping(c.Process.Pid) == n {
			return time.Since(began)
		}
	}
	t.Fatalf("process-compose does not run %d processes within two minutes", n)
	return 0
}

// sleeping is how many children of a process are a `sleep`. process-compose is not
// asked itself: its answer takes longer than its start.
func sleeping(pid int) int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	count := 0
	for _, list := range lists {
		children, err := os.ReadFile(list)
		if err != nil {
			continue // the thread is gone
		}
		for _, child := range strings.Fields(string(children)) {
			if name, err := os.ReadFile("/proc/" + child + "/comm"); err == nil && string(name) == "sleep\n" {
				count++
			}
		}
	}
	return count
}
