package apply_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lineage = "line"

// fixture is a project in a temporary directory: a scripted runtime, a real state and
// a scripted git.
type fixture struct {
	t       testing.TB
	dir     string
	rt      *sessiontest.Scripted
	store   *state.Store
	git     *repository
	applier apply.Applier
	secrets map[string]string

	mu     sync.Mutex
	events []history.Event
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	dir := t.TempDir()
	store, err := state.Open(t.Context(), filepath.Join(dir, "state.json"), "shop", "test", state.Holder{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	r := &fixture{t: t, dir: dir, rt: sessiontest.New(lineage), store: store, secrets: map[string]string{},
		git: &repository{branches: map[string]string{}, risks: map[string]git.Risk{}, fails: map[string]error{}}}
	bin := filepath.Join(dir, "path")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "robot"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.applier = apply.Applier{
		Store:       store,
		Runtime:     func(session.RuntimeSpec) (session.Runtime, error) { return r.rt, nil },
		Agent:       func(s session.AgentSpec) session.Agent { return robot{spec: s} },
		Git:         r.git.git(),
		Blobs:       state.Blobs{Dir: filepath.Join(dir, "blobs")},
		Secrets:     func(name string) (string, bool) { v, ok := r.secrets[name]; return v, ok },
		Facts:       r.rt.Facts,
		BaseEnv:     []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=/home/somebody"},
		DataDir:     dir,
		Project:     "shop",
		Parallelism: 4,
		By:          "ada",
		Emit: func(e history.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, e)
		},
	}
	return r
}

// spec is a session that can be made in the fixture.
func (r *fixture) spec(name string, needs ...string) session.Spec {
	s := session.Spec{
		Address: session.Single(name), Role: "default", Desired: session.Running, Branch: "agents/" + name,
		Agent:     session.AgentSpec{Name: "robot", Command: []string{"robot"}, PromptVia: "argument"},
		Workspace: session.Workspace{Mode: session.Worktree, Repo: "/repo", Path: filepath.Join(r.dir, "workspaces", name, "b"), OnDestroy: session.Keep},
		Runtime:   session.RuntimeSpec{Kind: "scripted"},
		Pause:     session.Pause{Mode: session.Detach},
		Stop:      session.Stop{Signal: "SIGTERM", Grace: session.Duration(time.Second)},
	}
	for _, n := range needs {
		s.DependsOn = append(s.DependsOn, session.Single(n))
	}
	return s
}

func (r *fixture) place(name string) string { return session.Single(name).OutsideName("shop") }

// change is what a plan would say of a session, as it is recorded and seen now.
func (r *fixture) change(action plan.Action, after *session.Spec, name string) plan.Change {
	a := session.Single(name)
	c := plan.Change{Address: a, Action: action, Reason: plan.ReasonRequested, Detail: "as requested", After: after}
	for _, rec := range r.store.State().Sessions {
		if rec.Address == a {
			c.Before = &rec
		}
	}
	if st, ok := r.rt.State(r.place(name)); ok {
		c.Live = &st.Live
	}
	return c
}

func (r *fixture) create(specs ...session.Spec) plan.Plan {
	p := plan.Plan{Lineage: lineage}
	for _, s := range specs {
		p.Changes = append(p.Changes, r.change(plan.Create, &s, s.Address.Block()))
	}
	return p
}

func (r *fixture) one(action plan.Action, s session.Spec) plan.Plan {
	return plan.Plan{Lineage: lineage, Changes: []plan.Change{r.change(action, &s, s.Address.Block())}}
}

// removal is a plan that takes recorded sessions away.
func (r *fixture) removal(names ...string) plan.Plan {
	p := plan.Plan{Lineage: lineage}
	for _, n := range names {
		p.Changes = append(p.Changes, r.change(plan.Delete, nil, n))
	}
	return p
}

func (r *fixture) run(p plan.Plan) (apply.Tally, error) {
	return r.applier.Run(r.t.Context(), p, nil)
}

func (r *fixture) must(p plan.Plan) apply.Tally {
	r.t.Helper()
	t, err := r.run(p)
	if err != nil {
		r.t.Fatalf("apply: %v", err)
	}
	return t
}

func (r *fixture) record(name string) session.Record {
	r.t.Helper()
	for _, rec := range r.store.State().Sessions {
		if rec.Address == session.Single(name) {
			return rec
		}
	}
	r.t.Fatalf("%s is not on record", name)
	return session.Record{}
}

func (r *fixture) recorded(name string) bool {
	return slices.ContainsFunc(r.store.State().Sessions, func(rec session.Record) bool { return rec.Address == session.Single(name) })
}

// eventsOf returns the events of the kinds, as "kind address".
func (r *fixture) eventsOf(kinds ...history.Kind) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.events {
		if slices.Contains(kinds, e.Kind) {
			out = append(out, string(e.Kind)+" "+strings.TrimPrefix(string(e.Address), "session."))
		}
	}
	return out
}

// event is the only event of the kind about the session.
func (r *fixture) event(kind history.Kind, name string) history.Event {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []history.Event
	for _, e := range r.events {
		if e.Kind == kind && e.Address == session.Single(name) {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		r.t.Fatalf("%d events %s of %s, want one: %+v", len(found), kind, name, found)
	}
	return found[0]
}

// calls are the runtime's calls of the operations, as "op name".
func (r *fixture) calls(ops ...sessiontest.Op) []string {
	var out []string
	for _, c := range r.rt.Calls(ops...) {
		name := strings.TrimPrefix(c.Name, "shop-")
		out = append(out, string(c.Op)+" "+name[:strings.LastIndex(name, "-")])
	}
	return out
}

// robot is an agent that takes its prompt as its block says.
type robot struct {
	session.Fileless
	spec session.AgentSpec
}

func (a robot) Start(in session.StartInput) session.Start {
	s, prompt, conversation := in.Spec, in.Prompt, in.Conversation
	start := session.Start{Argv: append(slices.Clone(s.Agent.Command), s.Args...)}
	if conversation != "" {
		start.Argv = append(start.Argv, "--resume", conversation)
	}
	switch {
	case prompt == "":
	case s.Agent.PromptVia == "paste":
		start.Paste = prompt
	default:
		start.Argv = append(start.Argv, prompt)
	}
	return start
}
func (a robot) Detect(e session.Evidence) session.Detection {
	if strings.HasSuffix(e.Screen, "?") {
		return session.Detection{Activity: session.Blocked, Detail: e.Screen, Source: "screen"}
	}
	if strings.HasSuffix(e.Screen, "? (y/n)") {
		q := &session.Question{Text: e.Screen, Options: []session.Option{{Number: 1, Word: session.Yes}, {Number: 2, Word: session.No}}}
		return session.Detection{Activity: session.Blocked, Detail: e.Screen, Question: q, Source: "screen"}
	}
	return session.Detection{}
}
func (a robot) Ready(screen string) bool {
	return strings.Contains(screen, a.spec.Ready)
}

// repository is a git whose worktrees are directories and whose branches a map
// tells, by path.
type repository struct {
	mu       sync.Mutex
	branches map[string]string
	risks    map[string]git.Risk
	fails    map[string]error // adding a worktree, by branch
}

func (g *repository) git() apply.Git {
	look := func(path string) session.Checkout {
		g.mu.Lock()
		defer g.mu.Unlock()
		c := session.Checkout{Path: path, Branch: g.branches[path]}
		entries, err := os.ReadDir(path)
		c.Exists, c.Empty = err == nil, len(entries) == 0
		c.Git = c.Branch != ""
		return c
	}
	return apply.Git{
		Look: look, LookClone: look,
		AddClone: git.AddClone, RemoveClone: git.RemoveClone,
		AddWorktree: func(_ context.Context, repo, path, branch, base string) (bool, error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			if err := g.fails[branch]; err != nil {
				return false, err
			}
			for p, b := range g.branches {
				if b == branch {
					return false, fmt.Errorf("branch %s is held by %s", branch, p)
				}
			}
			if err := os.Mkdir(path, 0o755); err != nil {
				return false, err
			}
			g.branches[path] = branch
			return true, os.WriteFile(filepath.Join(path, "README"), nil, 0o644)
		},
		AtRisk: func(context.Context, string, string) (git.Risk, error) { return git.Risk{}, nil },
		RemoveWorktree: func(_ context.Context, repo, path string) error {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.branches[path] == "" {
				return errors.New("not a worktree")
			}
			if risk := g.risks[path]; risk.Any() {
				return fmt.Errorf("remove worktree: %w", &git.RiskError{Path: path, Risk: risk})
			}
			delete(g.branches, path)
			return os.RemoveAll(path)
		},
	}
}
