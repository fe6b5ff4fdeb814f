//go:build real

package hub_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
	"github.com/agentform/agentform/tmux"
)

// host is a project on the real tmux, with real processes.
type host struct {
	t   *testing.T
	dir string
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "af") // short: sockets
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t, dir}
	for _, d := range []string{"s", "data"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		r := open(dir, "ada")
		defer r.Close()
		q := engine.Request{Options: plan.Options{Destroy: true}}
		p, err := r.Plan(context.Background(), q)
		if err == nil {
			_, err = r.Apply(context.Background(), q, p, nil)
		}
		if err != nil {
			t.Errorf("clean up: %v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return h
}

// open is a reconciler of the project in a directory, in whatever process.
func open(dir, by string) *engine.Engine {
	data := filepath.Join(dir, "data")
	self, _ := os.Executable() // without it no shim starts, which every test sees
	facts := func(run string) session.RunFacts {
		f, _ := rundir.ReadFacts(filepath.Join(data, "runs", run))
		return activity.FactsOf(f, f.Agent.Alive())
	}
	return &engine.Engine{
		Project: "shop", StatePath: filepath.Join(data, "state.json"), Version: "test", LockWait: 20 * time.Second,
		Who: state.Holder{PID: os.Getpid(), User: by, Command: "test"},
		Runtime: func(lineage string, _ session.RuntimeSpec) (session.Runtime, error) {
			return tmux.New(tmux.Config{SocketDir: filepath.Join(dir, "s"), DataDir: data, Lineage: lineage, Shim: []string{self, "shim"}}), nil
		},
		Observer: engine.Observer{Look: git.Look, LookClone: git.LookClone, Worktrees: git.Worktrees, Facts: facts, BootID: proc.BootID, Now: time.Now},
		Applier: apply.Applier{
			Agent: agent.For, Git: apply.HostGit(), Blobs: state.Blobs{Dir: filepath.Join(data, "blobs")},
			Secrets: func(string) (string, bool) { return "", true }, Facts: facts, BaseEnv: os.Environ(),
			DataDir: data, Project: "shop", Parallelism: 4, By: by,
		},
	}
}

func init() { serve = serveHub }

// serveHub runs a hub until the process receives SIGTERM.
func serveHub(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	h := hub.New(hub.Config{
		Project: "shop", DataDir: filepath.Join(dir, "data"), Open: func(by string) *engine.Engine { return open(dir, by) },
		Activity: activity.New(filepath.Join(dir, "data"), dir, agent.For),
		Wakers:   []hub.Waker{&hub.Processes{}, &hub.Files{}},
	})
	if err := h.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// hub starts one as a process, and waits until it supervises.
func (h *host) hub() *exec.Cmd {
	h.t.Helper()
	c := exec.Command(os.Args[0], "hub", h.dir)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	wait.For(h.t, "the hub runs", func() (any, bool) {
		holder, runs := hub.Running(filepath.Join(h.dir, "data"))
		return holder, runs && holder.PID == c.Process.Pid
	})
	return c
}

// counts waits until the hub has written n events of a kind.
func (h *host) counts(what string, kind history.Kind, n int) {
	h.t.Helper()
	wait.For(h.t, what, func() (any, bool) { counted := h.count(kind, history.ByHub); return counted, counted == n })
}

func (h *host) specs(n int) []session.Spec {
	var all []session.Spec
	for i := range n {
		name := fmt.Sprintf("s%d", i)
		all = append(all, session.Spec{
			Address: session.Single(name), Role: "default", Desired: session.Running,
			Agent:     session.AgentSpec{Name: "sleeper", Command: []string{"sleep", "1000"}, PromptVia: "none"},
			Workspace: session.Workspace{Mode: session.Plain, Path: filepath.Join(h.dir, "w", name), OnDestroy: session.Keep},
			Runtime:   session.RuntimeSpec{Kind: "tmux"}, Pause: session.Pause{Mode: session.Detach},
			Stop: session.Stop{Signal: "SIGTERM", Grace: session.Duration(2 * time.Second)},
			Restart: session.Restart{Policy: "on-failure", Attempts: 1000, Window: session.Duration(time.Hour),
				Backoff: session.Backoff{Initial: session.Duration(100 * time.Millisecond), Factor: 1, Max: session.Duration(time.Second), ResetAfter: session.Duration(time.Hour)}},
			Health: session.Health{Interval: session.Duration(2 * time.Second), OnUnhealthy: "restart"},
		})
	}
	return all
}

func (h *host) apply(specs []session.Spec) {
	h.t.Helper()
	r := open(h.dir, "ada")
	defer r.Close()
	p, err := r.Plan(h.t.Context(), engine.Request{Wanted: specs})
	if err == nil {
		_, err = r.Apply(h.t.Context(), engine.Request{Wanted: specs}, p, nil)
	}
	if err != nil {
		h.t.Fatalf("apply: %v", err)
	}
}

// status is a look without a lock. That a process dies while it is looked at is no
// error.
func (h *host) status() engine.Observation {
	h.t.Helper()
	r := open(h.dir, "ada")
	defer r.Close()
	s, err := r.Inspect(h.t.Context(), false)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// all reports whether every session lives, on the run that is on record, with
// nothing under way and nothing besides, and what lives.
func (h *host) all() (lives any, ok bool) {
	s := h.status()
	for _, x := range s.Sessions {
		if x.Live == nil || x.Live.Liveness != session.Alive || x.Live.Mark.Run != x.Record.Run.ID || x.Record.Intent != session.Settled {
			return s.World.Lives, false
		}
	}
	return s.World.Lives, len(s.World.Lives) == len(s.Sessions)
}

// kill ends the agent of a session that lives, by SIGKILL.
func (h *host) kill(i int) bool {
	s := h.status()
	l := s.Sessions[i%len(s.Sessions)].Live
	if l == nil || l.Liveness != session.Alive || l.Agent.PID <= 1 {
		return false
	}
	return syscall.Kill(l.Agent.PID, syscall.SIGKILL) == nil
}

// history are the events of all sessions of a kind and by somebody.
func (h *host) count(kind history.Kind, by string) int {
	h.t.Helper()
	n := 0
	for _, x := range h.status().Sessions {
		events, err := history.Read(state.Folder(filepath.Join(h.dir, "data"), x.Record), time.Time{})
		if err != nil {
			h.t.Fatal(err)
		}
		for _, e := range events {
			if e.Kind == kind && e.By == by {
				n++
			}
		}
	}
	return n
}

// The hub is killed at random moments, beside agents that die: nothing dies with
// it, nothing is doubled or lost, and every start is counted.
func TestKilledHub(t *testing.T) {
	h := newHost(t)
	h.apply(h.specs(6))
	killed := 0
	for range 12 {
		c := h.hub()
		for range rand.IntN(3) {
			if h.kill(rand.IntN(6)) {
				killed++
			}
		}
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		if _, err := state.Read(filepath.Join(h.dir, "data", "state.json")); err != nil {
			t.Fatal(err)
		}
	}
	c := h.hub()
	wait.For(t, "all live", h.all)
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("told to end it ended with %v", err)
	}
	if lives, ok := h.all(); !ok {
		t.Errorf("something ended with the hub: %+v", lives)
	}
	// Each end was followed by one start. One that a hub was killed in is begun again.
	claims, err := filepath.Glob(filepath.Join(h.dir, "data", "runs", "*", "claim"))
	began := h.count(history.ApplyStart, history.ByHub)
	if err != nil || len(claims) > 6+killed || began > killed+12*hub.DefaultAtOnce {
		t.Errorf("%d agents were killed, %d runs were started and %d restarts begun", killed, len(claims)-6, began)
	}
	for _, x := range h.status().Sessions {
		if n := x.Record.Run.Number; n > 1 && h.counted(x.Record) < n-1 {
			t.Errorf("%s is in its run %d, and %d tries are counted", x.Record.Address, n, h.counted(x.Record))
		}
	}
}

// counted is how many tries of the hub a session's history tells of.
func (h *host) counted(r session.Record) int {
	h.t.Helper()
	events, err := history.Read(state.Folder(filepath.Join(h.dir, "data"), r), time.Time{})
	if err != nil {
		h.t.Fatal(err)
	}
	return len(health.FromHistory(r.Spec.Restart, plan.Moments(events)).Tries)
}

// A person applies and restarts beside a hub, while agents die: nobody is in the
// other's way, and nothing is doubled.
func TestApplyBesideAHub(t *testing.T) {
	h := newHost(t)
	specs := h.specs(6)
	h.apply(specs)
	c := h.hub()
	var people sync.WaitGroup
	for range 2 {
		people.Go(func() {
			for i := range 5 {
				r := open(h.dir, "ada")
				_, _, err := r.Override(t.Context(), engine.Override{Addresses: []session.Address{session.Single(fmt.Sprintf("s%d", i))}, Desired: session.Running, Restart: true}, nil)
				if err != nil {
					t.Errorf("restart by hand: %v", err)
				}
				for {
					p, err := r.Plan(t.Context(), engine.Request{Wanted: specs})
					if err == nil {
						_, err = r.Apply(t.Context(), engine.Request{Wanted: specs}, p, nil)
					}
					var changed *engine.ChangedError // it was done meanwhile
					if !errors.As(err, &changed) {
						if err != nil {
							t.Errorf("apply: %v", err)
						}
						break
					}
				}
				r.Close()
			}
		})
	}
	for i := range 20 {
		h.kill(i)
		time.Sleep(30 * time.Millisecond)
	}
	people.Wait()
	wait.For(t, "all live", h.all)
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil {
		t.Errorf("the hub: %v", err)
	}
}

// The tmux server dies with all that is in it: all come back, a few at a time.
func TestKilledServer(t *testing.T) {
	h := newHost(t)
	const sessions = 10
	h.apply(h.specs(sessions))
	h.hub()
	if out, err := exec.Command("tmux", "-S", filepath.Join(h.dir, "s", "tmux-0"), "kill-server").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	most := 0
	wait.For(t, "all live", func() (any, bool) {
		now := 0
		for _, x := range h.status().Sessions {
			if x.Live != nil && time.Since(x.Record.Run.StartedAt) < time.Second && x.Record.Run.Number > 1 {
				now++
			}
		}
		most = max(most, now)
		return h.all()
	})
	if most > hub.DefaultAtOnce {
		t.Errorf("%d were started within a second", most)
	}
	if began := h.count(history.ApplyStart, history.ByHub); began != sessions {
		t.Errorf("%d starts for %d sessions", began, sessions)
	}
}

// An agent that is killed is noticed at once, however far the sweep.
func TestNoticed(t *testing.T) {
	h := newHost(t)
	specs := h.specs(3)
	for i := range specs {
		specs[i].Health.Interval = session.Duration(10 * time.Minute)
		specs[i].Restart.Backoff.Initial, specs[i].Restart.Backoff.Max = session.Duration(time.Hour), session.Duration(time.Hour)
	}
	h.apply(specs)
	h.hub()
	h.counts("it has looked", history.Discovered, 3)
	began := time.Now()
	if !h.kill(1) {
		t.Fatal("there is nothing to kill")
	}
	h.counts("it is told", history.Held, 1)
	t.Logf("noticed after %s", time.Since(began)) // not after the interval of ten minutes
}
