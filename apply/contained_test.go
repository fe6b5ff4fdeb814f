package apply_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// engine is a runtime of containers that run on this machine after all.
type engine struct {
	*sessiontest.Scripted
	lacks error // why nothing can be started

	mu     sync.Mutex
	run    []string // command lines, in order
	env    []string // of the last one
	cannot error    // why nothing can be run
}

func (e *engine) Check(context.Context, session.Spec, []string) error { return e.lacks }

func (e *engine) Run(ctx context.Context, _ session.Spec, dir string, argv, env []string) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.run, e.env = append(e.run, argv[0]), env
	if e.cannot != nil {
		return "", e.cannot
	}
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", `exec "$@"`, "sh"}, argv...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}

// containers makes a fixture one of containers, with a real git and a repository.
func containers(t *testing.T) (*fixture, *engine, string) {
	t.Helper()
	r := newFixture(t)
	e := &engine{Scripted: r.rt}
	r.applier.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return e, nil }
	repo := filepath.Join(r.dir, "repo")
	for _, args := range [][]string{{"init", "-q", "-b", "main", repo}, {"-C", repo, "commit", "-q", "--allow-empty", "-m", "first"}} {
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.example"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	r.applier.Git.LookClone = git.LookClone
	return r, e, repo
}

func (r *fixture) contained(name, repo string) session.Spec {
	s := r.spec(name)
	s.Runtime = session.RuntimeSpec{Kind: "docker", Name: "box", Docker: &session.DockerConfig{Image: "agents:1", Env: map[string]string{"IN": "box"}}}
	s.Workspace.Mode, s.Workspace.Repo, s.Workspace.OnDestroy = session.Clone, repo, session.RemoveClean
	return s
}

func TestContainer(t *testing.T) {
	r, e, repo := containers(t)
	s := r.contained("a", repo)
	s.Workspace.Setup = []string{"sh", "-c", "echo deps > deps; printf 'deps\n' >> .git/info/exclude || { mkdir .git/info && echo deps > .git/info/exclude; }"}
	s.Env = map[string]string{"OWN": "yes"}
	if _, err := r.applier.Run(t.Context(), r.create(s), nil); err != nil {
		t.Fatal(err)
	}
	co := git.LookClone(s.Workspace.Path)
	if co.Branch != "agents/a" || co.Repo != filepath.Join(s.Workspace.Path, ".git") {
		t.Errorf("workspace %+v", co)
	}
	if _, err := os.Stat(filepath.Join(s.Workspace.Path, "deps")); err != nil || !slices.Equal(e.run, []string{"sh"}) {
		t.Errorf("setup was run inside: %v; %v", e.run, err)
	}
	// Nothing of this machine's environment: the image has its own.
	if diff := cmp.Diff([]string{"IN=box", "OWN=yes"}, e.env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	st, _ := r.rt.State(r.place("a"))
	if diff := cmp.Diff([]string{"IN=box", "OWN=yes", "AGENTFORM_SESSION=session.a"}, st.Launch.Env); diff != "" {
		t.Errorf("the agent's environment (-want +got):\n%s", diff)
	}

	// What is not committed is asked for inside, and kept.
	write := filepath.Join(s.Workspace.Path, "work.txt")
	if err := os.WriteFile(write, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.applier.Run(t.Context(), r.removal("a"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(write); err != nil || e.run[len(e.run)-1] != "git" {
		t.Errorf("asked %v; %v", e.run, err)
	}
	// Made again, it is taken up; without work, and asked, it goes.
	if _, err := r.applier.Run(t.Context(), r.create(s), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(write); err != nil {
		t.Fatal(err)
	}
	e.cannot = errors.New("no such image")
	if _, err := r.applier.Run(t.Context(), r.removal("a"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Workspace.Path); err != nil {
		t.Error("it was removed though nobody could tell what is in it")
	}
	e.cannot = nil
	if _, err := r.applier.Run(t.Context(), r.create(s), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.applier.Run(t.Context(), r.removal("a"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Workspace.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestContainerThatCannotBe: what an engine lacks is reported before anything is
// touched.
func TestContainerThatCannotBe(t *testing.T) {
	r, e, repo := containers(t)
	e.lacks = errors.New("docker: image agents:1 is not there")
	s, other := r.contained("a", repo), r.spec("b")
	tally, err := r.applier.Run(t.Context(), r.create(s, other), nil)
	if err == nil || !strings.Contains(err.Error(), e.lacks.Error()) || tally.Failed != 1 || tally.Skipped != 1 {
		t.Errorf("%+v, %v", tally, err)
	}
	if _, err := os.Stat(s.Workspace.Path); !errors.Is(err, os.ErrNotExist) || len(r.store.State().Sessions) != 0 {
		t.Error("something was touched")
	}
}

func TestSetupInsideFails(t *testing.T) {
	r, _, repo := containers(t)
	s := r.contained("a", repo)
	s.Workspace.Setup = []string{"sh", "-c", "echo no compiler; exit 3"}
	_, err := r.applier.Run(t.Context(), r.create(s), nil)
	if err == nil || !strings.Contains(err.Error(), "exit status 3\nno compiler") {
		t.Errorf("%v", err)
	}
	rec := r.store.State().Sessions[0]
	if rec.Intent != session.Creating || !strings.HasPrefix(rec.LastError, "setup: sh -c") {
		t.Errorf("on record: %+v", rec)
	}
	log, err := os.ReadFile(filepath.Join(r.applier.Folder(rec), "setup.log"))
	if err != nil || string(log) != "no compiler\n" {
		t.Errorf("%q, %v", log, err)
	}
}
