package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/price"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/shim/program"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
	"github.com/agentform/agentform/tmux"
)

const token = "0123456789abcdef0123456789abcdef"

// The test binary is also the shim of real sessions, and a hub with its API as a
// process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "shim" {
		os.Exit(program.Main(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == "hub" {
		os.Exit(serve(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

// shop is a project on the real tmux, whose agents repeat what is typed.
type shop struct {
	t      *testing.T
	dir    string
	client *api.Client
	tcp    string               // the address of the door on TCP
	stop   func()               // ends the hub and its API
	times  func(*server.Server) // nil: its own
}

func (s *shop) socket() string { return filepath.Join(s.dir, "s", server.SocketName) }

// newShop has sessions of these names.
func newShop(t *testing.T, addresses ...session.Address) *shop {
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
	s.until("the agents can be typed to", func() bool {
		r := open(dir, "ada")
		defer r.Close()
		seen, err := r.Inspect(t.Context(), true)
		return err == nil && !slices.ContainsFunc(seen.Sessions, func(x engine.Seen) bool {
			return x.Live == nil || !strings.HasPrefix(x.Live.Screen, "ready")
		})
	})
	return s
}

func (s *shop) apply(q engine.Request) {
	s.t.Helper()
	r := open(s.dir, "ada")
	defer r.Close()
	p, err := r.Plan(context.Background(), q)
	if err == nil {
		_, err = r.Apply(context.Background(), q, p, nil)
	}
	if err != nil {
		s.t.Errorf("apply: %v", err)
	}
}

func specOf(dir string, a session.Address) session.Spec {
	return session.Spec{
		Address: a, Role: "default", Desired: session.Running,
		Agent:     session.AgentSpec{Name: "parrot", Command: []string{"sh", "-c", "echo ready; exec cat"}, PromptVia: "none"},
		Workspace: session.Workspace{Mode: session.Plain, Path: filepath.Join(dir, "w", a.Slug()), OnDestroy: session.Keep},
		Runtime:   session.RuntimeSpec{Kind: "tmux"}, Pause: session.Pause{Mode: session.Detach},
		Stop:    session.Stop{Signal: "SIGTERM", Grace: session.Duration(2 * time.Second)},
		Restart: session.Restart{Policy: "never"},
		Health:  session.Health{Interval: session.Duration(2 * time.Second), OnUnhealthy: "restart"},
	}
}

// open is a reconciler of the project in a folder, in whatever process.
func open(dir, by string) *engine.Engine {
	data := filepath.Join(dir, "data")
	self, _ := os.Executable() // without it no shim starts, which every test sees
	return &engine.Engine{
		Project: "shop", StatePath: filepath.Join(data, "state.json"), Version: "test", LockWait: 20 * time.Second,
		Who: state.Holder{PID: os.Getpid(), User: by, Command: "test"},
		Runtime: func(lineage string, _ session.RuntimeSpec) (session.Runtime, error) {
			return tmux.New(tmux.Config{SocketDir: filepath.Join(dir, "s"), DataDir: data, Lineage: lineage, Shim: []string{self, "shim"}}), nil
		},
		Observer: engine.Observer{Look: git.Look, LookClone: git.LookClone, Worktrees: git.Worktrees, Facts: factsIn(data), BootID: proc.BootID, Now: time.Now},
		Applier: apply.Applier{
			Agent: agent.For, Git: apply.HostGit(), Blobs: state.Blobs{Dir: filepath.Join(data, "blobs")},
			Secrets: func(string) (string, bool) { return "", true }, Facts: factsIn(data), BaseEnv: []string{"PATH=" + os.Getenv("PATH")},
			DataDir: data, Project: "shop", Parallelism: 4, By: by,
		},
	}
}

// factsIn is what the folders of runs tell.
func factsIn(data string) func(string) session.RunFacts {
	return func(run string) session.RunFacts {
		f, _ := rundir.ReadFacts(filepath.Join(data, "runs", run)) // without it the run has not begun
		facts := session.RunFacts{Claimed: f.Claimed, Alive: f.Agent.Alive(), BootID: f.BootID, Agent: session.Process{PID: f.Agent.PID, Start: f.Agent.Start}}
		if f.Exit != nil {
			facts.Exit = &session.Exit{Cause: f.Exit.Cause, Code: f.Exit.Code, Signal: f.Exit.Signal, At: f.Exit.At}
		}
		return facts
	}
}

// hubOf is the hub of the project in a folder, and its API.
func hubOf(dir string) (*hub.Hub, *server.Server) {
	data := filepath.Join(dir, "data")
	reader, metrics := activity.New(data, dir, agent.For), server.NewMetrics("test")
	h := hub.New(hub.Config{
		Project: "shop", DataDir: data, Open: func(by string) *engine.Engine { return open(dir, by) },
		Activity: reader, Looked: metrics.Looked, Wakers: []hub.Waker{&hub.Processes{}, &hub.Files{}},
	})
	return h, server.New(server.Config{Hub: h, Activity: reader, Usage: usage.New(data, price.BuiltIn().Cost), Facts: factsIn(data), Metrics: metrics, Project: "shop", Version: "test", By: "ada", Environ: os.Environ()})
}

// serve is the hub and its API as a process, until it is told to end.
func serve(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	h, served := hubOf(dir)
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

// serve runs the hub and its API in this process, on the unix socket and on TCP.
func (s *shop) serve() {
	s.t.Helper()
	h, serves := hubOf(s.dir)
	if s.times != nil {
		s.times(serves)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := h.Run(ctx); err != nil {
			s.t.Errorf("the hub: %v", err)
		}
	})
	if _, err := h.Look(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	unix, err := server.ListenUnix(s.socket())
	if err != nil {
		s.t.Fatal(err)
	}
	tcp, _, err := server.ListenTCP("127.0.0.1:0", false)
	if err != nil {
		s.t.Fatal(err)
	}
	s.tcp = tcp.Addr().String()
	listening, endAPI := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := serves.Run(listening, server.Listener{Listener: unix}, server.Listener{Listener: tcp, Token: token}); err != nil {
			s.t.Errorf("the API: %v", err)
		}
	})
	s.stop = sync.OnceFunc(func() {
		endAPI()
		serving.Wait()
		cancel()
		running.Wait()
	})
}

func (s *shop) until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(60 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not within a minute: %s", what)
		}
	}
}

// stateIs reports whether a session is in a state now.
func (s *shop) stateIs(id string, want session.State) bool {
	x, err := s.client.Session(s.t.Context(), id)
	return err == nil && x.State == want
}

// kill ends the agent of a session.
func (s *shop) kill(id string) {
	s.t.Helper()
	x, err := s.client.Session(s.t.Context(), id)
	if err != nil || x.PID == nil || *x.PID <= 1 {
		s.t.Fatalf("%s has no agent to kill: %+v, %v", id, x.Session, err)
	}
	if err := syscall.Kill(*x.PID, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	s.until(id+" is stale", func() bool { return s.stateIs(id, session.StateStale) })
}
