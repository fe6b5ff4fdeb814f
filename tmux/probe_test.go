//go:build real

package tmux_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// TestScreens checks that Screens returns only the requested screens, without those of
// sessions that are gone.
func TestScreens(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, name := range []string{"one", "two"} {
		b.create(t, b.shell(t, name, "echo I am "+name+"; read x"))
	}
	var one session.Location
	wait.For(t, "both are there", func() (any, bool) {
		lives, err := b.runtime.Observe(t.Context(), true)
		if err != nil || len(lives) != 2 {
			t.Fatalf("%d live, %v", len(lives), err)
		}
		one = lives[0].Location
		return lives, strings.Contains(lives[0].Screen, "I am one")
	})
	gone := one
	gone.Name, gone.Pane = "gone", "%99"
	shown, err := b.runtime.Screens(t.Context(), []session.Location{one, gone})
	if err != nil || len(shown) != 1 || shown[one] != "I am one" {
		t.Errorf("Screens = %q, %v", shown, err)
	}
	gone.Socket += "x"
	if shown, err = b.runtime.Screens(t.Context(), []session.Location{gone}); len(shown) != 0 {
		t.Errorf("of a server that is gone: %q, %v", shown, err)
	}
}

// TestProbes checks that a probe runs next to the agent, and that Unread counts the input that the
// agent has not read.
func TestProbes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.shell(t, "a", "stty raw -echo; echo up; sleep 1000")
	place := b.create(t, l)
	run := l.Mark.Run
	for _, c := range []struct{ script, want string }{
		{"exit 0", ""},
		{"echo one; echo two; exit 3", "exit status 3: two"},
		{"kill -9 $$", "killed by SIGKILL"},
	} {
		if got, err := b.runtime.Probe(t.Context(), place, run, []string{"sh", "-c", c.script}, 10*time.Second); got != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", c.script, got, err, c.want)
		}
	}
	if got, err := b.runtime.Probe(t.Context(), place, run, []string{"sleep", "50"}, 50*time.Millisecond); got != "it took longer than 50ms" || err != nil {
		t.Errorf("one that hangs: %q, %v", got, err)
	}
	for script, want := range map[string]session.Verification{
		"echo fine":                  {Output: "fine"},
		"echo one; echo two; exit 3": {Failed: "exit status 3", Code: 3, Output: "one\ntwo"},
	} {
		got, err := b.runtime.Verify(t.Context(), place, run, []string{"sh", "-c", script}, time.Minute)
		if log, unread := os.ReadFile(got.Log); unread != nil || string(log) != want.Output+"\n" {
			t.Errorf("%s: the log is %q, %v", script, log, unread)
		}
		if got.Log = ""; got != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", script, got, err, want)
		}
	}
	wait.For(t, "the agent does not read", func() (any, bool) {
		screen, err := b.runtime.Capture(t.Context(), place, 0)
		return []any{screen, err}, err == nil && strings.Contains(screen, "up")
	})
	if n, err := b.runtime.Unread(t.Context(), place, run); n != 0 || err != nil {
		t.Errorf("before a key: %d bytes, %v", n, err)
	}
	if err := b.runtime.Send(t.Context(), place, session.Input{Key: "F12"}); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the key is not read", func() (any, bool) {
		n, err := b.runtime.Unread(t.Context(), place, run)
		return []any{n, err}, err == nil && n > 0
	})
	if _, err := b.runtime.Probe(t.Context(), place, "0123456789abcdef", []string{"true"}, time.Second); !errors.Is(err, session.ErrUnprobeable) {
		t.Errorf("of a run that is none: %v", err)
	}
	if _, err := b.runtime.Verify(t.Context(), place, "0123456789abcdef", []string{"true"}, time.Second); !errors.Is(err, session.ErrUnprobeable) {
		t.Errorf("the verification of a run that is none: %v", err)
	}
}
