//go:build real

package docker

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/test/wait"
)

// TestStillThere runs the script for a container's shell in this machine's shell.
func TestStillThere(t *testing.T) {
	ask := func(pid int, as *syscall.Credential) (string, error) {
		c := exec.Command("sh", "-c", stillThere, "sh", strconv.Itoa(pid))
		c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		out, err := c.Output()
		return string(out), err
	}
	left := exec.Command("sh", "-c", "exit 7")
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	defer left.Wait() // until then it is a zombie
	wait.For(t, "it is a zombie", func() (any, bool) {
		stat, err := ask(left.Process.Pid, nil)
		if err != nil {
			t.Fatal(err)
		}
		code, signal, ok := proc.ParseZombieExit([]byte(stat))
		if ok && (code != 7 || signal != "") {
			t.Errorf("it left with %d %s", code, signal)
		}
		return stat, ok
	})
	if out, err := ask(left.Process.Pid, &syscall.Credential{Uid: 65534, Gid: 65534}); err == nil || out != "" {
		t.Errorf("another user, to whom the kernel shows a clean exit, is told %q, %v", out, err)
	}
	if out, err := ask(1<<22+1, nil); err == nil || out != "" {
		t.Errorf("one that is not there: %q, %v", out, err)
	}
}

// TestEnding checks that all processes of a terminal are ended, also those that ignore the signal
// or start a successor and exit.
func TestEnding(t *testing.T) {
	for name, script := range map[string]string{ // each shows that it has started
		"heeds":   "echo; sleep 1000",
		"ignores": "trap '' TERM; echo; while :; do sleep 0.05; done",
		"flees":   `hop() { sh -c 'sleep 0.01'; hop & }; hop; echo; sleep 0.2`,
	} {
		t.Run(name, func(t *testing.T) {
			leader := exec.Command("sh", "-c", script)
			leader.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			said, err := leader.StdoutPipe()
			if err == nil {
				err = leader.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := said.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			pid := strconv.Itoa(leader.Process.Pid)
			go leader.Wait()
			out, err := exec.Command("sh", "-c", ending, "sh", pid, "TERM", "1").CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			alive, _ := exec.Command("ps", "-o", "pid=,stat=,args=", "-s", pid).Output() // fails if there is none
			if text := strings.TrimSpace(string(alive)); text != "" && !strings.Contains(text, " Z") {
				t.Errorf("left: %s", text)
			}
		})
	}
}
