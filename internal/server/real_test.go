//go:build real

package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// newRealShop has sessions of these names in tmux.
func newRealShop(t *testing.T, addresses ...session.Address) *shop {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "af") // short: sockets
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"s", "data"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := &shop{t: t, dir: dir, stop: func() {}}
	s.engine = func(by string) *engine.Engine { return open(dir, by) }
	s.listen = func() (net.Listener, net.Listener) {
		unix, err := server.ListenUnix(s.socket())
		if err != nil {
			t.Fatal(err)
		}
		tcp, _, err := server.ListenTCP("127.0.0.1:0", false)
		if err != nil {
			t.Fatal(err)
		}
		return unix, tcp
	}
	s.connect = func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.socket())
	}
	s.wakers = wakers
	s.client = api.Dial(s.socket())
	t.Cleanup(func() {
		s.stop()
		s.client.Close()
		s.apply(engine.Request{Options: plan.Options{Destroy: true}})
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	var wanted []session.Spec
	for _, a := range addresses {
		wanted = append(wanted, specOf(dir, a))
	}
	s.apply(engine.Request{Wanted: wanted})
	wait.For(t, "the agents can be typed to", func() (any, bool) {
		r := open(dir, "ada")
		defer r.Close()
		seen, err := r.Inspect(t.Context(), true)
		return []any{seen.World.Lives, err}, err == nil && !slices.ContainsFunc(seen.Sessions, func(x engine.Seen) bool {
			return x.Live == nil || !strings.HasPrefix(x.Live.Screen, "ready")
		})
	})
	return s
}

func (s *shop) socket() string { return filepath.Join(s.dir, "s", server.SocketName) }

func wakers() []hub.Waker { return []hub.Waker{&hub.Processes{}, &hub.Files{}} }

// open is a reconciler of the project in a directory, in whatever process.
func open(dir, by string) *engine.Engine {
	data := filepath.Join(dir, "data")
	self, _ := os.Executable() // without it no shim starts, which every test sees
	e := engineOf(dir, by)
	e.Runtime = func(lineage string, _ session.RuntimeSpec) (session.Runtime, error) {
		return tmux.New(tmux.Config{SocketDir: filepath.Join(dir, "s"), DataDir: data, Lineage: lineage, Shim: []string{self, "shim"}}), nil
	}
	e.Observer.Look, e.Observer.LookClone, e.Observer.Worktrees = git.Look, git.LookClone, git.Worktrees
	e.Observer.Facts, e.Observer.BootID = factsIn(data), proc.BootID
	e.Applier.Git, e.Applier.Facts = apply.HostGit(), factsIn(data)
	return e
}

// factsIn is what the directories of runs tell.
func factsIn(data string) func(string) session.RunFacts {
	return func(run string) session.RunFacts {
		f, _ := rundir.ReadFacts(filepath.Join(data, "runs", run)) // without it the run has not begun
		return activity.FactsOf(f, f.Agent.Alive())
	}
}

func init() { serve = serveUntilEnd }

// serveUntilEnd is the hub and its API as a process, until it is asked to end.
func serveUntilEnd(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	h, served := hubOf(dir, nil, func(by string) *engine.Engine { return open(dir, by) }, wakers()...)
	ended := make(chan error, 1)
	supervised, end := context.WithCancel(context.Background())
	defer end()
	go func() {
		err := h.Run(supervised)
		stop() // without a hub there is nothing to look at
		ended <- err
	}()
	_, err := h.Look(ctx)
	if err == nil {
		l, problem := server.ListenUnix(filepath.Join(dir, "s", server.SocketName))
		if err = problem; err == nil {
			err = served.Run(ctx, server.Listener{Listener: l})
		}
	}
	end()
	if err := errors.Join(<-ended, err); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// killReal ends the agent of a session in tmux.
func (s *shop) killReal(id string) {
	s.t.Helper()
	x, err := s.client.Session(s.t.Context(), id)
	if err != nil || x.PID == nil || *x.PID <= 1 {
		s.t.Fatalf("%s has no agent to kill: %+v, %v", id, x.Session, err)
	}
	if err := syscall.Kill(*x.PID, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	wait.For(s.t, id+" is stale", func() (any, bool) { return "it is not", s.stateIs(id, session.StateStale) })
}

func TestListenTCP(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"0.0.0.0:0": "other machines can reach this address",
		"[::]:0":    "other machines can reach this address",
		"7171":      "expected HOST:PORT",
		"127.0.0.1": "expected HOST:PORT",
	} {
		if l, _, err := server.ListenTCP(address, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", address, l, err)
		}
	}
	for address, remote := range map[string]bool{"0.0.0.0:0": true, "127.0.0.1:0": false, ":0": false} {
		l, host, err := server.ListenTCP(address, remote)
		if err != nil || host != "" {
			t.Errorf("%s: %q, %v", address, host, err)
			continue
		}
		if at := l.Addr().String(); address == ":0" && !strings.HasPrefix(at, "127.0.0.1:") {
			t.Errorf("without a host it listens at %s", at)
		}
		l.Close()
	}
	l, host, err := server.ListenTCP("localhost:0", false)
	if err != nil || host != "localhost" {
		t.Fatalf("localhost: %q, %v", host, err)
	}
	l.Close()
}

// The socket is its owner's, stands where a dead one stood, and goes when it is
// closed, unless another stands there.
func TestListenUnix(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "af")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, server.SocketName)
	first, err := server.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	second, err := server.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("unix", path); err != nil {
		t.Errorf("the first took the second's away: %v", err)
	} else {
		c.Close()
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	if err := os.WriteFile(path, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ListenUnix(path); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("over a file: %v", err)
	}
	if _, err := server.ListenUnix(filepath.Join(dir, strings.Repeat("x", 120), "hub.sock")); err == nil {
		t.Error("where there is no folder it listens")
	}
}

// A hub that is killed leaves its socket behind, and the next one is there in its
// place; a second beside it changes nothing.
func TestKilledHub(t *testing.T) {
	t.Parallel()
	s := newRealShop(t, session.Single("api"))
	start := func() *exec.Cmd {
		c := exec.Command(os.Args[0], "hub", s.dir)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		wait.For(t, "the hub answers", func() (any, bool) {
			h, err := s.client.Health(t.Context())
			holder, runs := hub.Running(filepath.Join(s.dir, "data"))
			return []any{h, err, holder}, err == nil && h.Status == "ok" && runs && holder.PID == c.Process.Pid
		})
		return c
	}
	c := start()
	before, err := s.client.Session(t.Context(), "api")
	if err != nil {
		t.Fatal(err)
	}
	second := exec.Command(os.Args[0], "hub", s.dir)
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "is already running for this project") {
		t.Errorf("a second hub: %v, %s", err, out)
	}
	if !s.stateIs("api", session.StateRunning) {
		t.Error("after a second hub the first does not answer")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if _, err := os.Lstat(s.socket()); err != nil {
		t.Fatalf("the killed one left no socket: %v", err)
	}
	if _, err := s.client.Health(t.Context()); !api.NotThere(err) {
		t.Errorf("nobody listens: %v", err)
	}
	c = start()
	after, err := s.client.Session(t.Context(), "api")
	if err != nil || *after.PID != *before.PID || after.Restarts != 0 {
		t.Errorf("with the next hub the agent is %v, %v, it was %v", after.PID, err, before.PID)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("told to end it ended with %v", err)
	}
	if _, err := os.Lstat(s.socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ended, it left its socket: %v", err)
	}
}
