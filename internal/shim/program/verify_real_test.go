//go:build real

package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/test/wait"
)

// TestVerify checks the environment of a verification and its result.
func TestVerify(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", map[string]string{"TOKEN": "t0p"}, func(c *rundir.Config) { c.Env = append(c.Env, "WORD=hello") })
	cmd, _ := r.running()
	for name, c := range map[string]struct {
		argv []string
		want shim.Probed
	}{
		"it succeeds":           {[]string{"test", "-e", "up"}, shim.Probed{}},
		"it fails":              {[]string{"sh", "-c", "echo one; echo two >&2; exit 3"}, shim.Probed{Code: 3, Output: "one\ntwo"}},
		"the agent's variables": {[]string{"sh", "-c", "echo $WORD $TOKEN"}, shim.Probed{Output: "hello t0p"}},
		"it dies":               {[]string{"sh", "-c", "kill -9 $$"}, shim.Probed{Signal: "SIGKILL"}},
		"there is no such":      {[]string{"no-such-command"}, shim.Probed{Code: 127, Output: "no-such-command: command not found in PATH (" + os.Getenv("PATH") + ")"}},
		"what it leaves behind": {[]string{"sh", "-c", "sleep 50 & echo left"}, shim.Probed{Output: "left"}},
	} {
		got, err := r.client().Verify(t.Context(), shim.Probe{Argv: c.argv, Timeout: time.Minute})
		printed := c.want.Output
		if printed != "" {
			printed += "\n"
		}
		if log, unread := os.ReadFile(got.Log); unread != nil || string(log) != printed {
			t.Errorf("%s: the log is %q, %v", name, log, unread)
		}
		if got.Log = ""; err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if _, err := r.client().Verify(t.Context(), shim.Probe{}); codeOf(err) != shim.CodeInvalid {
		t.Errorf("without a command: %v", err)
	}
	r.stop("", 0)
	r.ended(cmd)
}

// TestVerifyWithoutALog checks that a command still runs if its log cannot be written.
func TestVerifyWithoutALog(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", nil)
	cmd, _ := r.running()
	if err := os.MkdirAll(filepath.Join(r.dir, rundir.VerifyLog, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := r.client().Verify(t.Context(), shim.Probe{Argv: []string{"sh", "-c", "echo one; exit 3"}, Timeout: time.Minute})
	if err != nil || p.Code != 3 || p.Log != "" || !strings.HasPrefix(p.Output, "one\nagentform: the log is incomplete: ") {
		t.Errorf("%+v, %v", p, err)
	}
	r.stop("", 0)
	r.ended(cmd)
}

// TestVerifyThatHangs checks that on timeout a verification is ended with all its processes, that
// meanwhile another one is refused but probes are not, and that it continues without its client.
func TestVerifyThatHangs(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", nil)
	cmd, _ := r.running()
	c, err := shim.Dial(r.config.Socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	script := "(setsid sh -c 'echo $$ > far; exec sleep 55' &); (setsid env -u AGENTFORM_VERIFY sh -c 'echo $$ > near; exec sleep 56' & wait) & (env -i setsid sh -c 'echo $$ > clean; exec sleep 58' &); echo $$ > begun; wait"
	go func() {
		_, err := c.Verify(t.Context(), shim.Probe{Argv: []string{"sh", "-c", script}, Timeout: 5 * time.Second})
		done <- err
	}()
	root, far, near, clean := r.pid("begun"), r.pid("far"), r.pid("near"), r.pid("clean")
	if _, err := r.client().Verify(t.Context(), shim.Probe{Argv: []string{"true"}}); codeOf(err) != shim.CodeBusy {
		t.Errorf("a second one: %v", err)
	}
	if p, err := r.client().Probe(t.Context(), shim.Probe{Argv: []string{"true"}}); err != nil || p != (shim.Probed{}) {
		t.Errorf("a probe meanwhile: %+v, %v", p, err)
	}
	if err := c.Close(); err != nil || <-done == nil {
		t.Errorf("the client was closed: %v", err)
	}
	if !root.Alive() {
		t.Error("it was ended with its client")
	}
	again := r.client() // one: a shim has few slots
	wait.For(t, "another one runs after it", func() (any, bool) {
		p, err := again.Verify(t.Context(), shim.Probe{Argv: []string{"true"}})
		return []any{p, err}, err == nil && p.Code == 0
	})
	if root.Alive() || far.Alive() || near.Alive() || clean.Alive() {
		t.Errorf("alive: %v, %v, %v, %v", root.Alive(), far.Alive(), near.Alive(), clean.Alive())
	}
	p, err := again.Verify(t.Context(), shim.Probe{Argv: []string{"sleep", "57"}, Timeout: 10 * time.Millisecond})
	if err != nil || !p.TimedOut || p.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", p, err)
	}
	r.stop("", 0)
	r.ended(cmd)
}

// TestVerifyOfARunThatEnds checks that a verification ended with its run does not count as failed.
func TestVerifyOfARunThatEnds(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", nil)
	cmd, _ := r.running()
	done := make(chan error, 1)
	c := r.client()
	go func() {
		_, err := c.Verify(t.Context(), shim.Probe{Argv: []string{"sh", "-c", "touch begun; exec sleep 55"}})
		done <- err
	}()
	wait.For(t, "it runs", func() (any, bool) { _, err := os.Stat(filepath.Join(r.work, "begun")); return err, err == nil })
	r.stop("", 0)
	if err := <-done; codeOf(err) != shim.CodeEnding {
		t.Errorf("it returned %v", err)
	}
	r.ended(cmd)
}
