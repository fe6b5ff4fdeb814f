package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/shim/program"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

// The test binary is also the shim of real sessions.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "shim" {
		os.Exit(program.Main(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// room is a project in a temporary directory, with a scripted runtime and directories
// for workspaces.
type room struct {
	*engine.Engine
	t   testing.TB
	dir string
	rt  *sessiontest.Scripted

	mu     sync.Mutex
	events []history.Event
}

func newRoom(t testing.TB) *room {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "robot"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &room{t: t, dir: dir, rt: sessiontest.New("")}
	r.Engine = r.another()
	return r
}

// another is a reconciler as another process would have it.
func (r *room) another() *engine.Engine {
	return &engine.Engine{
		Project: "shop", StatePath: filepath.Join(r.dir, "state.json"), Version: "test",
		Who:     state.Holder{PID: os.Getpid(), User: "ada"},
		Runtime: func(string, session.RuntimeSpec) (session.Runtime, error) { return r.rt, nil },
		Observer: engine.Observer{
			Look:      look,
			LookClone: look,
			Worktrees: func(context.Context, string) ([]session.Held, error) { return nil, nil },
			Facts:     r.rt.Facts,
			BootID:    r.rt.BootID,
			Now:       time.Now,
		},
		Applier: apply.Applier{
			Agent:   func(s session.AgentSpec) session.Agent { return robot{} },
			Git:     apply.Git{Look: look, LookClone: look},
			Blobs:   state.Blobs{Dir: filepath.Join(r.dir, "blobs")},
			Secrets: func(string) (string, bool) { return "", false },
			Facts:   r.rt.Facts,
			BaseEnv: []string{"PATH=" + r.dir},
			DataDir: r.dir, Project: "shop", Parallelism: 4, By: "ada",
			Emit: func(e history.Event) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.events = append(r.events, e)
			},
		},
	}
}

func look(path string) session.Checkout {
	entries, err := os.ReadDir(path)
	return session.Checkout{Path: path, Exists: err == nil, Empty: len(entries) == 0}
}

func (r *room) spec(name string, needs ...string) session.Spec {
	s := session.Spec{
		Address: session.Single(name), Role: "default", Desired: session.Running,
		Agent:     session.AgentSpec{Name: "robot", Command: []string{"robot"}, PromptVia: "paste"},
		Prompt:    session.PromptOf("work on " + name),
		Workspace: session.Workspace{Mode: session.Plain, Path: filepath.Join(r.dir, "workspaces", name), OnDestroy: session.Keep},
		Runtime:   session.RuntimeSpec{Kind: "scripted"},
		Pause:     session.Pause{Mode: session.Detach},
	}
	for _, n := range needs {
		s.DependsOn = append(s.DependsOn, session.Single(n))
	}
	return s
}

func place(name string) string { return session.Single(name).OutsideName("shop") }

// converge plans, and applies what it planned.
func (r *room) converge(q engine.Request) (plan.Plan, apply.Tally, error) {
	p, err := r.Plan(r.t.Context(), q)
	if err != nil {
		return p, apply.Tally{}, err
	}
	tally, err := r.Apply(r.t.Context(), q, p, nil)
	return p, tally, err
}

func (r *room) must(specs ...session.Spec) {
	r.t.Helper()
	if _, _, err := r.converge(engine.Request{Wanted: specs}); err != nil {
		r.t.Fatalf("converge: %v", err)
	}
}

// planned are the acting changes of a plan for the specs, as "action address".
func (r *room) planned(specs ...session.Spec) []string {
	r.t.Helper()
	p, err := r.Plan(r.t.Context(), engine.Request{Wanted: specs})
	if err != nil {
		r.t.Fatal(err)
	}
	var acts []string
	for _, d := range p.Problems {
		acts = append(acts, "problem "+d.Error())
	}
	for _, c := range p.Changes {
		if c.Action.Acts() {
			acts = append(acts, string(c.Action)+" "+c.Address.Block())
		}
	}
	return acts
}

func (r *room) records() []session.Record {
	r.t.Helper()
	st, err := state.Read(r.StatePath)
	if err != nil {
		r.t.Fatal(err)
	}
	return st.Sessions
}

func (r *room) record(name string) session.Record {
	r.t.Helper()
	records := r.records()
	i := slices.IndexFunc(records, func(rec session.Record) bool { return rec.Address == session.Single(name) })
	if i < 0 {
		r.t.Fatalf("%s is not on record", name)
	}
	return records[i]
}

// robot takes its prompt typed, as soon as it lives.
type robot struct{ session.Fileless }

func (robot) Start(in session.StartInput) session.Start {
	return session.Start{Argv: in.Spec.Agent.Command, Paste: in.Prompt}
}
func (robot) Detect(session.Evidence) session.Detection { return session.Detection{} }
func (robot) Ready(string) bool                         { return true }
