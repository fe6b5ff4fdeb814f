//go:build real

package proc

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/wait"
)

// mark is the run of the processes of these tests. Each test process has its own, since Sweep ends
// all processes with it.
var mark = fmt.Sprintf("flee-%d", os.Getpid())

// loop returns a shell script and the file that keeps it running: its argument.
func loop(t *testing.T, script string) (path, on string) {
	t.Helper()
	dir := t.TempDir()
	path, on = filepath.Join(dir, "loop"), filepath.Join(dir, "on")
	executable.Write(t, path, []byte("#!/bin/sh\n"+script+"\n"), 0o700)
	if err := os.WriteFile(on, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, on
}

// A process that starts its successor and exits has another pid at every look, and no environment
// during the exec.
func TestSweepEndsWhatFlees(t *testing.T) {
	hop, on := loop(t, `[ ! -e "$1" ] || "$0" "$1" &`)
	marked := []byte(RunVariable + "=" + mark + "\x00")
	fleeing := func() bool {
		for range 20 { // a single look may miss it
			for _, pid := range pids() {
				if env, _ := environ(pid); bytes.Contains(env, marked) {
					return true
				}
			}
		}
		return false
	}
	for i := range 40 {
		cmd := exec.Command(hop, on)
		cmd.Env = append(os.Environ(), RunVariable+"="+mark)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if left, err := Sweep(mark, 0, "KILL"); err != nil || len(left) > 0 {
			t.Fatalf("left %v: %v", left, err)
		}
		t.Logf("caught after %s", time.Since(began)) // it must be stopped for that
		if fleeing() {
			t.Errorf("sweep %d: it goes on", i)
			break
		}
	}
	if err := os.Remove(on); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the last one has ended", func() (any, bool) { return nil, !fleeing() })
}

// A process that keeps calling exec has no environment, or half of one, at many looks.
func TestFindWhatBecomesAnother(t *testing.T) {
	again, on := loop(t, `[ ! -e "$1" ] || exec "$0" "$1"`)
	cmd := exec.Command(again, on)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), RunVariable + "=" + mark}
	for i := range 4000 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("V%d=%d", i, i))
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	marked := []byte(RunVariable + "=" + mark + "\x00")
	for i := range 200 {
		found := 0
		for p := range Find(func(environ []byte) bool { return bytes.Contains(environ, marked) }) {
			if found++; p.PID != cmd.Process.Pid {
				t.Errorf("look %d: found %d", i, p.PID)
			}
		}
		if found != 1 {
			t.Errorf("look %d: found %d times", i, found)
			break
		}
	}
	if err := os.Remove(on); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// A process gets its grace, whatever its process group: meanwhile nothing is stopped, or hung up
// because its group was stopped.
func TestSweepLetsThemGo(t *testing.T) {
	for name, script := range map[string]string{
		"alone":              `trap 'sleep 0.2; echo clean >clean; exit 0' TERM; touch up; while :; do sleep 0.02; done`,
		"in another group":   `set -m; bash -c 'trap "sleep 0.1; echo clean >clean; exit 0" TERM; touch up; while :; do sleep 0.02; done' & wait`,
		"in a stopped group": `set -m; bash -c 'trap "sleep 0.1; echo clean >clean; exit 0" TERM; echo $$ >up; kill -STOP $PPID $$; while :; do sleep 0.02; done' & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				dir := t.TempDir()
				cmd := exec.Command("bash", "-c", script)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), RunVariable+"="+mark)
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- cmd.Wait() }()
				wait.For(t, "it has begun", func() (any, bool) {
					up, err := os.ReadFile(filepath.Join(dir, "up"))
					if name != "in a stopped group" {
						return err, err == nil
					}
					pid, _ := strconv.Atoi(strings.TrimSpace(string(up)))
					s, ok := ReadStat(pid)
					return s, ok && s.Stopped() // it is the last to stop itself
				})
				began := time.Now()
				if left, err := Sweep(mark, time.Minute, "TERM"); err != nil || len(left) > 0 {
					t.Errorf("left %v, %v", left, err)
				}
				t.Logf("ended after %s", time.Since(began))
				<-done
				if _, err := os.Stat(filepath.Join(dir, "clean")); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestFindKnowsWhatHasNoEnvironment(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	began := time.Now()
	for p := range Find(func(environ []byte) bool { return bytes.Contains(environ, []byte("AGENTFORM_NOBODY=1\x00")) }) {
		t.Errorf("found %v", p)
	}
	t.Logf("it took %s; what does not settle would take %s", time.Since(began), settleTimeout)
}
