//go:build real

package program

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/test/wait"

	"github.com/agentform/agentform/internal/shim/rundir"
)

func TestProbe(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", map[string]string{"TOKEN": "t0p"}, func(c *rundir.Config) { c.Env = append(c.Env, "WORD=hello") })
	cmd, _ := r.running()
	probe := func(p shim.Probe) (shim.Probed, error) { return r.client().Probe(t.Context(), p) }
	for name, c := range map[string]struct {
		argv []string
		want shim.Probed
	}{
		"it is well":             {[]string{"test", "-e", "up"}, shim.Probed{}},
		"it fails":               {[]string{"sh", "-c", "echo no; exit 3"}, shim.Probed{Code: 3, Output: "no\n"}},
		"the agent's variables":  {[]string{"sh", "-c", "echo $WORD $TOKEN"}, shim.Probed{Output: "hello t0p\n"}},
		"there is no terminal":   {[]string{"sh", "-c", "test ! -t 0 && ! (exec < /dev/tty)"}, shim.Probed{}},
		"it dies":                {[]string{"sh", "-c", "kill -9 $$"}, shim.Probed{Signal: "SIGKILL"}},
		"there is no such":       {[]string{"no-such-probe"}, shim.Probed{Code: 127, Output: "no-such-probe: command not found in PATH (" + os.Getenv("PATH") + ")"}},
		"what it leaves behind":  {[]string{"sh", "-c", "sleep 50 & echo left"}, shim.Probed{Output: "left\n"}},
		"it prints without end":  {[]string{"sh", "-c", "yes | head -c 100000; echo end"}, shim.Probed{Output: strings.Repeat("y\n", 2046) + "end\n"}},
		"it is asked once again": {[]string{"true"}, shim.Probed{}},
	} {
		got, err := probe(shim.Probe{Argv: c.argv, Timeout: 10 * time.Second})
		if name == "there is no terminal" { // shells word it differently
			got.Output, c.want.Output = "", ""
		}
		if name == "it prints without end" {
			got.Output = got.Output[len(got.Output)-100:]
			c.want.Output = c.want.Output[len(c.want.Output)-100:]
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if _, err := probe(shim.Probe{}); codeOf(err) != shim.CodeInvalid {
		t.Errorf("without a command: %v", err)
	}
	r.stop("", 0)
	if status, exit := r.ended(cmd); exit.Cause != rundir.CauseRequested {
		t.Errorf("left with %v, exit is %+v", status, exit)
	}
}

// A probe that hangs is killed with the processes it started. Meanwhile another one is refused, and
// the run's end waits for neither.
func TestProbeThatHangs(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", nil)
	cmd, _ := r.running()
	done := make(chan shim.Probed, 1)
	go func() {
		c, err := shim.Dial(r.config.Socket)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		p, err := c.Probe(context.Background(), shim.Probe{Argv: []string{"sh", "-c", "touch begun; sleep 55 & sleep 56"}, Timeout: 5 * time.Second})
		if err != nil {
			t.Error(err)
		}
		done <- p
	}()
	wait.For(t, "the probe runs", func() (any, bool) { _, err := os.Stat(filepath.Join(r.work, "begun")); return err, err == nil })
	if _, err := r.client().Probe(t.Context(), shim.Probe{Argv: []string{"true"}}); codeOf(err) != shim.CodeBusy {
		t.Errorf("a second one: %v", err)
	}
	if p := <-done; !p.TimedOut || p.Signal != "SIGKILL" {
		t.Errorf("%+v", p)
	}
	c := r.client()
	if err := c.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.client().Probe(t.Context(), shim.Probe{Argv: []string{"true"}}); codeOf(err) != shim.CodeBusy {
		t.Errorf("of a frozen agent: %v", err)
	}
	r.stop("", 0)
	r.ended(cmd)
}

// Input that was not read is counted at the agent's own terminal.
func TestUnread(t *testing.T) {
	r := prepare(t, "stty raw -echo; touch up; while [ ! -e read ]; do sleep 0.02; done; head -c 3 > got; sleep 60", nil)
	cmd, tty := r.terminal()
	c := r.client() // one: a shim has few slots
	unread := func() int {
		n, err := c.Unread(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := unread(); n != 0 {
		t.Errorf("before: %d bytes", n)
	}
	if _, err := tty.WriteString("abc"); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "it waits", func() (any, bool) { n := unread(); return n, n == 3 })
	if err := os.WriteFile(filepath.Join(r.work, "read"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "it is read", func() (any, bool) { n := unread(); return n, n == 0 })
	r.stop("SIGKILL", 0)
	r.ended(cmd)

	r = prepare(t, "touch up; exec sleep 60", nil)
	cmd, _ = r.running() // without a terminal
	if _, err := r.client().Unread(t.Context()); codeOf(err) != shim.CodeUnsupported {
		t.Errorf("without a terminal: %v", err)
	}
	r.stop("", 0)
	r.ended(cmd)
}
