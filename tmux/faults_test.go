//go:build real

package tmux_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// nothingLeft checks that a failed Create left no session, process or secret.
func (b *bed) nothingLeft(t *testing.T, l session.Launch) {
	t.Helper()
	if _, ok := b.see(t, session.Location{Name: l.Name}); ok {
		t.Error("the session is there")
	}
	if left := carrying(l.Mark.Run); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
	entries, err := os.ReadDir(b.config.SocketDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "tmux-") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

func TestNoTmux(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	c := b.config
	c.Bin = filepath.Join(b.root, "no-such-tmux")
	r := tmux.New(c)
	defer r.Close()
	if lives, err := r.Observe(t.Context(), true); err != nil || len(lives) != 0 {
		t.Errorf("observe without any socket: %v, %v; want nothing and no error", lives, err)
	}
	l := b.launch(t, "app")
	l.Secrets = map[string]string{"A": "b"}
	if _, err := r.Create(t.Context(), l); !errors.Is(err, tmux.ErrNotAvailable) || !strings.Contains(err.Error(), "install tmux") {
		t.Errorf("create: %v, want ErrNotAvailable with its remedy", err)
	}
	b.nothingLeft(t, l)
	b.create(t, b.launch(t, "other"))
	if _, err := r.Observe(t.Context(), false); !errors.Is(err, tmux.ErrNotAvailable) {
		t.Errorf("observe with a server: %v, want ErrNotAvailable: what it holds is unknown", err)
	}
}

func TestDeadSocketIsNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: b.socket(0), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	listener.Close()
	if lives, err := b.runtime.Observe(t.Context(), true); err != nil || len(lives) != 0 {
		t.Errorf("observe: %v, %v; want nothing and no error", lives, err)
	}
	if _, err := os.Lstat(b.socket(0)); err != nil {
		t.Errorf("looking has removed the socket: %v", err)
	}
	b.create(t, b.launch(t, "app"))
}

func TestServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "app"))
	pid, err := strconv.Atoi(strings.TrimSpace(b.tmux(t, p.Socket, "display-message", "-p", "#{pid}")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if lives, err := b.runtime.Observe(ctx, false); err == nil {
		t.Errorf("observe: %v; what a stopped server holds is unknown", lives)
	}
	if err := b.runtime.Send(ctx, p, session.Input{Text: "x"}); err == nil || errors.Is(err, session.ErrGone) {
		t.Errorf("send: %v, want an error that is not ErrGone", err)
	}
}

func TestOtherProtocol(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, b.launch(t, "app"))
	c := b.config
	c.Bin = filepath.Join(b.root, "other-tmux")
	calls := filepath.Join(b.root, "calls")
	executable.Write(t, c.Bin, []byte("#!/bin/sh\necho >>'"+calls+"'\necho 'protocol version mismatch (client 8, server 7)' >&2\nexit 1\n"), 0o700)
	r := tmux.New(c)
	defer r.Close()
	var failed *tmux.Error
	if lives, err := r.Observe(t.Context(), false); !errors.As(err, &failed) || !strings.Contains(err.Error(), "protocol version mismatch") {
		t.Errorf("observe: %v, %v; want the mismatch", lives, err)
	}
	if _, err := r.Create(t.Context(), b.launch(t, "next")); err == nil || !strings.Contains(err.Error(), "protocol version mismatch") {
		t.Errorf("create: %v, want the mismatch", err)
	}
	if n, err := os.ReadFile(calls); err != nil || len(n) != 2 {
		t.Errorf("tmux was called %d times, %v: what does not help was tried again", len(n), err)
	}
}

// A killed tmux may have printed only a part: no session counts as gone for that.
func TestClientThatIsKilled(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "app"))
	c := b.config
	c.Bin = filepath.Join(b.root, "killed-tmux")
	executable.Write(t, c.Bin, []byte("#!/bin/sh\necho \"can't find session: other\" >&2\nkill -9 $$\n"), 0o700)
	r := tmux.New(c)
	defer r.Close()
	if lives, err := r.Observe(t.Context(), false); err == nil {
		t.Errorf("observe: %v, want an error: what is there is unknown", lives)
	}
	live, _ := b.see(t, p)
	for what, err := range map[string]error{
		"send":  r.Send(t.Context(), p, session.Input{Text: "x"}),
		"pause": r.Pause(t.Context(), p, live.Mark.Run, session.Detach),
	} {
		if err == nil || errors.Is(err, session.ErrGone) || !strings.Contains(err.Error(), "killed") {
			t.Errorf("%s: %v, want that it was killed", what, err)
		}
	}
}

func TestShimThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	c := b.config
	c.Shim = []string{filepath.Join(b.root, "no-such-shim"), "shim"}
	r := tmux.New(c)
	defer r.Close()
	l := b.launch(t, "app")
	l.Secrets = map[string]string{"A": "b"}
	if _, err := r.Create(t.Context(), l); err == nil || !strings.Contains(err.Error(), "no-such-shim") {
		t.Errorf("create: %v, want the shim's path", err)
	}
	b.nothingLeft(t, l)
}

func TestAgentThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "app")
	l.Argv = []string{"no-such-agent"}
	if _, err := b.runtime.Create(t.Context(), l); err == nil || !strings.Contains(err.Error(), "no-such-agent") {
		t.Errorf("create: %v, want the agent's name", err)
	}
	b.nothingLeft(t, l)
	p := b.create(t, b.launch(t, "app"))
	live, _ := b.see(t, p)
	if err := b.runtime.Stop(t.Context(), p, live.Mark.Run, session.Stop{}); err != nil {
		t.Fatal(err)
	}
	l = b.launch(t, "app")
	l.Argv = []string{"no-such-agent"}
	if _, err := b.runtime.Restart(t.Context(), p, l); err == nil || !strings.Contains(err.Error(), "no-such-agent") {
		t.Errorf("restart: %v, want the agent's name", err)
	}
	if live, ok := b.see(t, p); !ok || live.Liveness != session.Dead {
		t.Errorf("after a failed restart: there %v, %s; want a standing place", ok, live.Liveness)
	}
}

// TestStopWithoutDirectory checks that a run whose directory is lost, as after git clean, is dead when it
// was stopped, so that the session can be restarted at once. Its shim is slow to exit.
func TestStopWithoutDirectory(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "api")
	p := b.create(t, l)
	b.listening(t, p)
	shim, err := strconv.Atoi(strings.TrimSpace(b.tmux(t, p.Socket, "list-panes", "-t", "="+p.Name, "-F", "#{pane_pid}")))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(l.RunDir, filepath.Join(b.root, "lost")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(shim, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	slow := time.AfterFunc(300*time.Millisecond, func() { _ = syscall.Kill(shim, syscall.SIGCONT) })
	defer slow.Stop()
	later := tmux.New(b.config) // it has not read the directory
	defer later.Close()
	if err := later.Stop(t.Context(), p, l.Mark.Run, l.Stop); err != nil {
		t.Fatal(err)
	}
	next := b.launch(t, "api")
	if _, err := later.Restart(t.Context(), p, next); err != nil {
		t.Fatal(err)
	}
	b.listening(t, p)
}

func TestAgentThatLeavesAtOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.shell(t, "app", "exit 4"))
	if live := b.dies(t, p); live.Exit == nil || live.Exit.Code != 4 || live.Exit.Cause != "self" {
		t.Errorf("exit %+v, want 4", live.Exit)
	}
}

func TestCancelledCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.create(t, b.launch(t, "first"))
	for _, after := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond, 8 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		l := b.launch(t, "app")
		p, err := b.runtime.Create(ctx, l)
		cancel()
		if err == nil { // it finished first
			if err := b.runtime.Remove(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		if _, ok := b.see(t, session.Location{Name: "app"}); ok {
			t.Errorf("cancelled after %v: the session is there", after)
		}
		if left := carrying(l.Mark.Run); len(left) > 0 {
			t.Errorf("cancelled after %v: left: %q", after, left)
		}
	}
}

func TestNamesThatTmuxChanges(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, name := range []string{"", "a.b", "a:b", "=a", "#{pid}", "ü", "_agentform-1", "a b", "-d"} {
		l := b.launch(t, "app")
		l.Name = name
		if _, err := b.runtime.Create(t.Context(), l); err == nil {
			t.Errorf("created %q", name)
		}
	}
}

func TestAnotherLineageIsForeign(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "app"))
	for name, want := range map[string]bool{lineage: false, "another": true, "": false} {
		c := b.config
		c.Lineage = name
		r := tmux.New(c)
		lives, err := r.Observe(t.Context(), false)
		if err != nil || len(lives) != 1 || lives[0].Foreign != want {
			t.Errorf("lineage %q: %+v, %v; want foreign %v", name, lives, err, want)
		}
		if want {
			if err := r.Remove(t.Context(), p); err == nil {
				t.Error("removed another project's session")
			}
		}
		r.Close()
	}
}

func TestLaunchSpec(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "app")
	l.Spec = session.Spec{Address: "session.app", Branch: "agents/app"}
	b.create(t, l)
	s, err := b.runtime.LaunchSpec(l.Mark.Run)
	if err != nil || s == nil || s.Branch != l.Spec.Branch {
		t.Errorf("spec %+v, %v", s, err)
	}
	if s, err := b.runtime.LaunchSpec("0123456789abcdef"); s != nil || err != nil {
		t.Errorf("of a run that is not there: %+v, %v", s, err)
	}
	if _, err := b.runtime.LaunchSpec("../x"); err == nil {
		t.Error("read outside the runs")
	}
}
