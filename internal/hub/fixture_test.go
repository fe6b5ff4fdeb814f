package hub_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/notify"
	"github.com/agentform/agentform/internal/shim/program"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

// serve runs a hub as a process of its own. Only tests of real sessions have it.
var serve func(dir string) (code int)

// The test binary is also the shim of real sessions, and a hub of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "shim" {
		os.Exit(program.Main(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == "hub" {
		os.Exit(serve(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

// room is a project in a temporary directory, with a scripted runtime.
type room struct {
	t   testing.TB
	dir string
	rt  *sessiontest.Scripted

	mu       sync.Mutex
	notified []notify.Event
	branch   map[string]string // of workspaces, by path
	secret   error
	failing  map[string]string // why heartbeats fail, by place
	asked    map[string]int
	listened int

	secretAsked int
	jump        atomic.Int64 // by how many nanoseconds the clock on the wall is wrong
}

func (r *room) now() time.Time { return time.Now().Add(time.Duration(r.jump.Load())) }

func newRoom(t testing.TB) *room {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "robot"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &room{t: t, dir: dir, rt: sessiontest.New(""), branch: map[string]string{}, failing: map[string]string{}, asked: map[string]int{}}
}

// open is a reconciler in somebody's name, as another process would have it.
func (r *room) open(by string) *engine.Engine {
	return &engine.Engine{
		Project: "shop", StatePath: filepath.Join(r.dir, "state.json"), Version: "test", LockWait: 5 * time.Second,
		Who:     state.Holder{PID: os.Getpid(), User: by, Command: "test"},
		Runtime: func(string, session.RuntimeSpec) (session.Runtime, error) { return r.rt, nil },
		Observer: engine.Observer{
			Look: r.look, LookClone: r.look,
			Worktrees: func(context.Context, string) ([]session.Held, error) { return nil, nil },
			Facts:     r.rt.Facts, BootID: r.rt.BootID, Now: r.now,
		},
		Applier: apply.Applier{
			Agent:   agent.For,
			Git:     apply.Git{Look: r.look, LookClone: r.look},
			Blobs:   state.Blobs{Dir: filepath.Join(r.dir, "blobs")},
			Secrets: func(string) (string, bool) { r.mu.Lock(); defer r.mu.Unlock(); return "s3cret", r.secret == nil },
			Facts:   r.rt.Facts, BaseEnv: []string{"PATH=" + r.dir}, Now: r.now,
			DataDir: r.dir, Project: "shop", Parallelism: 4, By: by,
		},
	}
}

func (r *room) look(path string) session.Checkout {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries, err := os.ReadDir(path)
	b := r.branch[path]
	return session.Checkout{Path: path, Exists: err == nil, Empty: len(entries) == 0, Git: b != "", Branch: b}
}

// spec is a session with the manifest's defaults; its waits are exact.
func (r *room) spec(name string, change ...func(*session.Spec)) session.Spec {
	s := session.Spec{
		Address: session.Single(name), Role: "default", Desired: session.Running,
		Agent:     session.AgentSpec{Name: "robot", Command: []string{"robot"}, PromptVia: "none"},
		Workspace: session.Workspace{Mode: session.Plain, Path: filepath.Join(r.dir, "workspaces", name), OnDestroy: session.Keep},
		Runtime:   session.RuntimeSpec{Kind: "scripted"},
		Pause:     session.Pause{Mode: session.Detach},
		Restart: session.Restart{Policy: "on-failure", Attempts: 5, Window: session.Duration(15 * time.Minute), EscalateAfter: 3,
			Backoff: session.Backoff{Initial: session.Duration(5 * time.Second), Factor: 2, Max: session.Duration(5 * time.Minute), ResetAfter: session.Duration(10 * time.Minute)}},
		Health: session.Health{Interval: session.Duration(10 * time.Second), Timeout: session.Duration(5 * time.Second),
			StartPeriod: session.Duration(30 * time.Second), Failures: 3, HungAfter: session.Duration(15 * time.Minute), OnUnhealthy: "restart"},
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func place(name string) string { return session.Single(name).OutsideName("shop") }

// apply makes the sessions as a person's apply does.
func (r *room) apply(specs ...session.Spec) { r.applyWith(plan.Options{}, specs...) }

func (r *room) applyWith(o plan.Options, specs ...session.Spec) {
	r.t.Helper()
	rec := r.open("ada")
	defer rec.Close()
	q := engine.Request{Wanted: specs, Options: o}
	p, err := rec.Plan(r.t.Context(), q)
	if err == nil {
		_, err = rec.Apply(r.t.Context(), q, p, nil)
	}
	if err != nil {
		r.t.Fatalf("apply: %v", err)
	}
}

// onRuntime lets a hub's sessions be on a runtime.
func onRuntime(rt session.Runtime) func(*hub.Config) {
	return func(c *hub.Config) {
		open := c.Open
		c.Open = func(by string) *engine.Engine {
			e := open(by)
			e.Runtime = func(string, session.RuntimeSpec) (session.Runtime, error) { return rt, nil }
			return e
		}
	}
}

// hub is a hub of the project, which stop ends.
func (r *room) hub(change ...func(*hub.Config)) (h *hub.Hub, stop func()) {
	c := hub.Config{
		Project: "shop", DataDir: r.dir, Open: r.open, Activity: activity.New(r.dir, r.dir, agent.For),
		Secret: func(string) error { r.mu.Lock(); defer r.mu.Unlock(); r.secretAsked++; return r.secret },
		Notify: func(e notify.Event) { r.mu.Lock(); defer r.mu.Unlock(); r.notified = append(r.notified, e) },
	}
	for _, f := range change {
		f(&c)
	}
	h = hub.New(c)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("the hub ended: %v", err)
		}
	})
	r.t.Cleanup(stop)
	return h, stop
}

// events are the kinds of what happened to a session, those of interest, each with
// its reason.
func (r *room) events(name string, kinds ...history.Kind) []string {
	r.t.Helper()
	var all []string
	for _, e := range r.history(name) {
		if len(kinds) == 0 || slices.Contains(kinds, e.Kind) {
			all = append(all, strings.TrimSpace(string(e.Kind)+" "+cmp.Or(e.Reason, e.New)))
		}
	}
	return all
}

func (r *room) history(name string) []history.Event {
	r.t.Helper()
	rec := r.record(name)
	events, err := history.Read(state.Folder(r.dir, rec), time.Time{})
	if err != nil {
		r.t.Fatal(err)
	}
	return events
}

func (r *room) record(name string) session.Record {
	r.t.Helper()
	st, err := state.Read(filepath.Join(r.dir, "state.json"))
	if err != nil && !errors.Is(err, state.ErrNone) {
		r.t.Fatal(err)
	}
	i := slices.IndexFunc(st.Sessions, func(rec session.Record) bool { return rec.Address == session.Single(name) })
	if i < 0 {
		r.t.Fatalf("%s is not on record", name)
	}
	return st.Sessions[i]
}

// launches is how often a session's agent was started.
func (r *room) launches(name string) int {
	s, _ := r.rt.State(place(name))
	return s.Launches
}

// told are the events that somebody was notified of.
func (r *room) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, e := range r.notified {
		all = append(all, strings.TrimSpace(e.Event+" "+e.Reason))
	}
	return all
}

func (r *room) alive(name string) bool {
	s, ok := r.rt.State(place(name))
	return ok && s.Live.Liveness == session.Alive
}
