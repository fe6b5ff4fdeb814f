package server_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/price"
	"github.com/agentform/agentform/internal/report"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/shim/program"
	"github.com/agentform/agentform/internal/test/pipe"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

const token = "0123456789abcdef0123456789abcdef"

// serve runs a hub with its API as a process of its own. Only tests of real sessions have it.
var serve func(dir string) (code int)

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

// shop is a project whose agents repeat what is typed: scripted ones, or real ones in tmux.
type shop struct {
	t       *testing.T
	dir     string
	runtime *sessiontest.Scripted // nil: tmux
	engine  func(by string) *engine.Engine
	listen  func() (owner, tcp net.Listener)
	connect func(ctx context.Context) (net.Conn, error) // to the door for the owner
	wakers  func() []hub.Waker
	lander  server.Lander        // nil: the hub lands nothing
	client  *api.Client          // by that door
	tcp     string               // the address of the door on TCP
	stop    func()               // ends the hub and its API
	times   func(*server.Server) // nil: its own
}

// newShop has scripted sessions of these names.
func newShop(t *testing.T, addresses ...session.Address) *shop {
	t.Helper()
	s := &shop{t: t, dir: t.TempDir(), runtime: sessiontest.New(""), stop: func() {}}
	if err := os.Mkdir(filepath.Join(s.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.engine = func(by string) *engine.Engine {
		e := engineOf(s.dir, by)
		look := func(path string) session.Checkout { return session.Checkout{Path: path, Exists: true, Empty: true} }
		e.Runtime = func(string, session.RuntimeSpec) (session.Runtime, error) { return s.runtime, nil }
		e.Observer.Look, e.Observer.LookClone = look, look
		e.Observer.Worktrees = func(context.Context, string) ([]session.Held, error) { return nil, nil }
		e.Observer.Facts, e.Observer.BootID = s.runtime.Facts, s.runtime.BootID
		e.Applier.Git, e.Applier.Facts = apply.Git{Look: look, LookClone: look}, s.runtime.Facts
		return e
	}
	var owner *pipe.Listener
	s.listen = func() (net.Listener, net.Listener) {
		owner = pipe.Listen()
		return owner, pipe.Listen()
	}
	s.connect = func(ctx context.Context) (net.Conn, error) { return pipe.Dial(ctx, "tcp", owner.Addr().String()) }
	s.wakers = func() []hub.Waker { return nil }
	s.client = api.DialWith(s.connect)
	t.Cleanup(func() {
		s.stop()
		s.client.Close()
	})
	var wanted []session.Spec
	for _, a := range addresses {
		s.runtime.Script(a.OutsideName("shop"), sessiontest.Step{Screen: "ready"})
		wanted = append(wanted, specOf(s.dir, a))
	}
	s.apply(engine.Request{Wanted: wanted})
	return s
}

// caller returns a client of the door for the owner, as any program has it.
func (s *shop) caller() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return s.connect(ctx)
	}}}
}

// byTCP returns a transport to the door on TCP.
func byTCP() *http.Transport {
	transport := pipe.Transport()
	transport.DisableKeepAlives = true
	return transport
}

func (s *shop) apply(q engine.Request) {
	s.t.Helper()
	r := s.engine("ada")
	defer r.Close()
	p, err := r.Plan(context.Background(), q)
	if err == nil {
		_, err = r.Apply(context.Background(), q, p, nil)
	}
	if err != nil {
		s.t.Errorf("apply: %v", err)
	}
}

// engineOf is a reconciler of the project in a directory, without a runtime.
func engineOf(dir, by string) *engine.Engine {
	data := filepath.Join(dir, "data")
	return &engine.Engine{
		Project: "shop", StatePath: filepath.Join(data, "state.json"), Version: "test", LockWait: 20 * time.Second,
		Who:      state.Holder{PID: os.Getpid(), User: by, Command: "test"},
		Observer: engine.Observer{Now: time.Now},
		Applier: apply.Applier{
			Agent: agent.For, Blobs: state.Blobs{Dir: filepath.Join(data, "blobs")},
			Secrets: func(string) (string, bool) { return "", true }, BaseEnv: []string{"PATH=" + os.Getenv("PATH")},
			DataDir: data, Project: "shop", Parallelism: 4, By: by,
		},
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

// hubOf is the hub of the project in a directory, and its API.
func hubOf(dir string, l server.Lander, open func(by string) *engine.Engine, wakers ...hub.Waker) (*hub.Hub, *server.Server) {
	data := filepath.Join(dir, "data")
	reader, metrics := activity.New(data, dir, agent.For), server.NewMetrics("test")
	h := hub.New(hub.Config{
		Project: "shop", DataDir: data, Open: open,
		Activity: reader, Looked: metrics.Looked, Wakers: wakers,
	})
	return h, server.New(server.Config{Hub: h, Activity: reader, Usage: usage.New(data, price.BuiltIn().Cost), Facts: open("ada").Observer.Facts, Metrics: metrics,
		Folder:  open("ada").Applier.Folder,
		Project: "shop", Version: "test", By: "ada", Environ: os.Environ(),
		Land: l, Report: func(s *hub.Snapshot, since time.Time) api.Report {
			return report.Of(report.Input{Project: "shop", Since: since, Until: s.At, Supervisor: api.HubRuns})
		}})
}

// serve runs the hub and its API in this process, with two doors.
func (s *shop) serve() {
	s.t.Helper()
	h, serves := hubOf(s.dir, s.lander, s.engine, s.wakers()...)
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
	owner, tcp := s.listen()
	s.tcp = tcp.Addr().String()
	listening, endAPI := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := serves.Run(listening, server.Listener{Listener: owner}, server.Listener{Listener: tcp, Token: token}); err != nil {
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
	s.runtime.Kill(session.Single(id).OutsideName("shop"))
	s.until(id+" is stale", func() bool { return s.stateIs(id, session.StateStale) })
}
