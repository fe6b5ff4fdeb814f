//go:build real

package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// describe says what machine this is and what else it does, before anything is
// measured.
func describe(t *testing.T) string {
	t.Helper()
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("unknown")
	}
	return fmt.Sprintf("%d cores, %s %s, %s, %s, %s, git %s; load at the start %s",
		runtime.NumCPU(), said("uname", "-s"), said("uname", "-r"), runtime.Version(), said("tmux", "-V"),
		docker(), strings.TrimPrefix(said("git", "--version"), "git version "), strings.Join(strings.Fields(string(load))[:1], " "))
}

func docker() string {
	if v := said("docker", "version", "--format", "{{.Server.Version}}"); v != "" {
		return "Docker " + v
	}
	return "no Docker"
}

// said is what a program prints, or nothing if it is not there.
func said(program string, args ...string) string {
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(out))
}

// peakVariable makes this program run another and print what that took: at most of
// memory, in bytes, and of time, in nanoseconds.
const peakVariable = "BENCH_PEAK"

func TestMain(m *testing.M) {
	if os.Getenv(peakVariable) == "" {
		os.Exit(m.Run())
	}
	c := exec.Command(os.Args[1], os.Args[2:]...)
	c.Stderr = os.Stderr
	began := time.Now()
	if out, err := c.Output(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		os.Exit(1)
	}
	fmt.Println(int64(peak(c)), time.Since(began).Nanoseconds())
}

// peak is the most memory that a process that has ended had, in bytes.
func peak(c *exec.Cmd) float64 {
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return float64(usage.Maxrss)
	}
	return float64(usage.Maxrss) * 1024
}
