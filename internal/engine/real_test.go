//go:build real

package engine_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
	"github.com/agentform/agentform/tmux"
)

// newHost is a project with the real tmux, git, shims and state, and a shell
// script for an agent.
func newHost(t *testing.T) (r *room, repo string) {
	t.Helper()
	// A test's own directory has too long a name for a socket.
	dir, err := os.MkdirTemp("", "af")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	repo, data, sockets := filepath.Join(dir, "repo"), filepath.Join(dir, "data"), filepath.Join(dir, "s")
	for _, folder := range []string{repo, data, sockets} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run(t, repo, "git", "init", "-q", "-b", "main")
	run(t, repo, "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	facts := func(id string) session.RunFacts {
		f, err := rundir.ReadFacts(filepath.Join(data, "runs", id))
		if err != nil {
			t.Error(err)
		}
		return activity.FactsOf(f, f.Agent.Alive())
	}
	r = &room{t: t, dir: data}
	r.Engine = &engine.Engine{
		Project: "shop", StatePath: filepath.Join(data, "state.json"), Version: "test",
		Runtime: func(lineage string, _ session.RuntimeSpec) (session.Runtime, error) {
			return tmux.New(tmux.Config{SocketDir: sockets, DataDir: data, Lineage: lineage, Shim: []string{self, "shim"}}), nil
		},
		Observer: engine.Observer{Look: git.Look, LookClone: git.LookClone, Worktrees: git.Worktrees, Facts: facts, BootID: proc.BootID, Now: time.Now},
		Applier: apply.Applier{
			Agent:   func(s session.AgentSpec) session.Agent { return shell{} },
			Git:     apply.HostGit(),
			Blobs:   state.Blobs{Dir: filepath.Join(data, "blobs")},
			Secrets: func(string) (string, bool) { return "tell nobody", true },
			Facts:   facts,
			BaseEnv: os.Environ(),
			DataDir: data, Project: "shop", Parallelism: 4, By: "ada",
			Emit: func(e history.Event) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.events = append(r.events, e)
			},
		},
	}
	t.Cleanup(func() {
		ctx, q := context.Background(), engine.Request{Options: plan.Options{Destroy: true}}
		p, err := r.Plan(ctx, q)
		if err == nil {
			_, err = r.Apply(ctx, q, p, nil)
		}
		if err != nil {
			t.Errorf("clean up: %v", err)
		}
		r.Close()
		wait.For(t, "no process is left", func() (any, bool) { left := processes(t, dir); return left, len(left) == 0 })
	})
	return r, repo
}

// shell is an agent that greets, and then writes down what it gets.
type shell struct{ session.Fileless }

func (shell) Start(in session.StartInput) session.Start {
	return session.Start{Argv: []string{"sh", "-c", `echo "$KEY" >secret.out; echo ready; while read -r line; do echo "$line" >>heard.out; done`}, Paste: in.Prompt}
}
func (shell) Detect(session.Evidence) session.Detection { return session.Detection{} }
func (shell) Ready(screen string) bool                  { return strings.Contains(screen, "ready") }

func (r *room) work(repo, name string) session.Spec {
	s := r.spec(name)
	s.Agent.Ready, s.Branch, s.Runtime.Kind = "ready", "agents/"+name, "tmux"
	s.Workspace = session.Workspace{Mode: session.Worktree, Repo: repo, Path: filepath.Join(r.dir, "workspaces", name, "b"), OnDestroy: session.RemoveClean}
	s.Stop = session.Stop{Signal: "SIGTERM", Grace: session.Duration(2 * time.Second)}
	return s
}

func TestRealWorld(t *testing.T) {
	r, repo := newHost(t)
	api, web, docs := r.work(repo, "api"), r.work(repo, "web"), r.work(repo, "docs")
	api.Secrets = []string{"KEY"}
	web.DependsOn = []session.Address{"session.api"}
	docs.Workspace.Setup = []string{"git", "config", "--get", "core.bare"}
	specs := []session.Spec{api, web, docs}
	r.must(specs...)
	if got := r.planned(specs...); len(got) != 0 {
		t.Fatalf("planned again: %v", got)
	}
	if got := await(t, filepath.Join(api.Workspace.Path, "heard.out")); got != "work on api\n" {
		t.Errorf("the agent heard %q", got)
	}
	if got := await(t, filepath.Join(api.Workspace.Path, "secret.out")); got != "tell nobody\n" {
		t.Errorf("the agent's secret is %q", got)
	}

	// An agent is killed: the reason is reported, and it is mended in its place.
	before := r.record("web")
	if err := syscall.Kill(before.Run.Agent.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "something is planned", func() (any, bool) { return "nothing", len(r.planned(specs...)) > 0 })
	if diff := cmp.Diff([]string{"restart web"}, r.planned(specs...)); diff != "" {
		t.Fatal(diff)
	}
	// Meanwhile another one left its branch: an error, and the others converge.
	run(t, api.Workspace.Path, "git", "checkout", "-q", "-b", "other")
	p, _, err := r.converge(engine.Request{Wanted: specs})
	if err != nil || len(p.Problems) != 1 || p.Problems[0].Address != api.Address || !strings.Contains(p.Problems[0].Detail, `"other"`) {
		t.Errorf("%v, problems %+v", err, p.Problems)
	}
	if diff := cmp.Diff([]string{"session.api"}, r.heard(history.BranchMismatch)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"session.web"}, r.heard(history.RunEnded)); diff != "" {
		t.Error(diff)
	}
	if rec := r.record("web"); rec.Run.Number != 2 || rec.ID != before.ID || rec.Location.Name != before.Location.Name {
		t.Errorf("record %+v", rec)
	}
	run(t, api.Workspace.Path, "git", "checkout", "-q", "agents/api")
	if got := r.planned(specs...); len(got) != 0 {
		t.Errorf("planned: %v", got)
	}

	// Hands.
	for _, desired := range []session.Desired{session.Paused, session.Running, session.Stopped} {
		h := engine.Override{Addresses: []session.Address{"session.docs"}, Desired: desired}
		if _, _, err := r.Override(t.Context(), h, nil); err != nil {
			t.Errorf("%s: %v", desired, err)
		}
	}
	if r.record("docs").Location != (session.Location{}) {
		t.Errorf("record %+v", r.record("docs"))
	}

	// In the end only work that is in nobody's history stays.
	agent := r.record("web").Run.Agent
	if _, _, err := r.converge(engine.Request{Options: plan.Options{Destroy: true}}); err != nil {
		t.Fatal(err)
	}
	if (proc.Process{PID: agent.PID, Start: agent.Start}).Alive() {
		t.Error("an agent outlives destroy")
	}
	for _, s := range specs {
		if _, err := os.Stat(filepath.Join(s.Workspace.Path, "heard.out")); err != nil {
			t.Errorf("%s: uncommitted work is lost: %v", s.Address, err)
		}
	}
	kept := 0
	for _, e := range r.events {
		if e.Kind == history.WorkKept && strings.Contains(e.Detail, "untracked") {
			kept++
		}
	}
	if kept != len(specs) {
		t.Errorf("%d workspaces are said to be kept", kept)
	}
	if transcript := await(t, filepath.Join(r.dir, "agents", "default", before.ID, "transcript.log")); !strings.Contains(transcript, "ready") {
		t.Errorf("transcript %q", transcript)
	}
	// What was kept is taken up again, and goes once it holds nothing more.
	r.must(api)
	if err := os.Remove(filepath.Join(api.Workspace.Path, "secret.out")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Override(t.Context(), engine.Override{Addresses: []session.Address{"session.api"}, Desired: session.Stopped}, nil); err != nil {
		t.Fatal(err)
	}
	run(t, api.Workspace.Path, "git", "clean", "-fdq")
	if _, _, err := r.converge(engine.Request{Options: plan.Options{Destroy: true}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(api.Workspace.Path); !os.IsNotExist(err) {
		t.Errorf("a clean workspace of ours stays: %v", err)
	}
}

// heard are the sessions of the events of a kind.
func (r *room) heard(kind history.Kind) (of []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == kind {
			of = append(of, string(e.Address))
		}
	}
	return of
}

// processes are the command lines of all processes that name the directory: tmux
// servers and clients, shims and agents.
func processes(t *testing.T, dir string) (found []string) {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "args").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, dir) {
			found = append(found, line)
		}
	}
	return found
}

// await returns what a file contains once that ends a line.
func await(t *testing.T, path string) string {
	t.Helper()
	var text []byte
	wait.For(t, path+" has a line", func() (any, bool) {
		var err error
		text, err = os.ReadFile(path)
		return []any{string(text), err}, bytes.HasSuffix(text, []byte("\n"))
	})
	return string(text)
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}
