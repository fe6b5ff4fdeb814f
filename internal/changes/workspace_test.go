package changes

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// executor is a runtime whose places are this machine, seen through env.
type executor struct{ session.Runtime }

func (executor) Exec(_ session.Location, c session.Command) []string {
	return append([]string{"env", "-C", c.Dir}, c.Argv...)
}

// Where git runs is decided by the workspace's mode and the runtime's traits.
func TestWhereGitRuns(t *testing.T) {
	up := &session.Live{PlaceUp: true}
	for name, c := range map[string]struct {
		mode, runtime string
		live          *session.Live
		host, asks    bool
	}{
		"worktree":                       {session.Worktree, "tmux", up, true, false},
		"stopped worktree":               {session.Worktree, "tmux", nil, true, false},
		"clone":                          {session.Clone, "tmux", nil, true, false},
		"in place":                       {session.InPlace, "tmux", up, true, false},
		"plain":                          {session.Plain, "tmux", up, false, false},
		"clone of a container":           {session.Clone, "docker", up, false, true},
		"its container no longer exists": {session.Clone, "docker", nil, false, false},
		"trusted worktree":               {session.Worktree, "docker", up, true, false},
		"plain, in a container":          {session.Plain, "docker", up, false, false},
		"container does not run":         {session.Clone, "docker", &session.Live{}, false, false},
		"nothing is known of it":         {"", "docker", up, false, true},
		"adopted, without a mode":        {"", "tmux", up, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := session.Record{Spec: session.Spec{Runtime: session.RuntimeSpec{Kind: c.runtime}}, Tree: session.WorkspaceState{Mode: c.mode}}
			asked := false
			w := Of(r, session.Checkout{Path: t.TempDir()}, c.live, func(session.RuntimeSpec) (session.Runtime, error) {
				asked = true
				return nil, errors.New("asked")
			})
			if w.Git == nil != (!c.host && !c.asks) {
				t.Fatalf("git runs: %t", w.Git != nil)
			}
			if w.Git != nil {
				_, _ = w.Git(t.Context(), "version")
			}
			if asked != c.asks {
				t.Errorf("the runtime was asked: %t", asked)
			}
		})
	}
}

func TestGitElsewhere(t *testing.T) {
	p := newProject(t)
	r := session.Record{Spec: session.Spec{Runtime: session.RuntimeSpec{Kind: "docker"}}, Tree: session.WorkspaceState{Mode: session.Clone, Repo: p.repo}}
	rt := session.Runtime(executor{})
	w := Of(r, session.Checkout{Path: p.tree}, &session.Live{PlaceUp: true}, func(session.RuntimeSpec) (session.Runtime, error) { return rt, nil })
	if out, err := w.Git(t.Context(), "rev-parse", "--abbrev-ref", "HEAD"); err != nil || strings.TrimSpace(out) != "agents/x" {
		t.Errorf("%s, %v", out, err)
	}
	rt = sessiontest.New("l")
	if _, err := w.Git(t.Context(), "version"); err == nil || !strings.Contains(err.Error(), "cannot run git") {
		t.Errorf("a runtime that cannot: %v", err)
	}
}

// holder is a runtime that holds a clone, and counts the commands that run in it.
type holder struct {
	session.Runtime
	session.WorkspaceHolder
	commands *int
}

func (h holder) RunIn(ctx context.Context, _ session.Record, stdin io.Reader, stdout io.Writer, argv ...string) error {
	*h.commands++
	return git.ShellHere(ctx, stdin, stdout, argv...)
}

// TestCountElsewhere checks that the changes of a workspace elsewhere are counted by one command there
// if its stamp or its base has changed, and by two if it was brought a base.
func TestCountElsewhere(t *testing.T) {
	p, commands := newProject(t), 0
	clone := filepath.Join(t.TempDir(), "clone")
	if _, err := git.AddClone(t.Context(), p.repo, clone, "agents/y", "", nil); err != nil {
		t.Fatal(err)
	}
	r := session.Record{Spec: session.Spec{Runtime: session.RuntimeSpec{Kind: "kubernetes"}}, Tree: session.WorkspaceState{Mode: session.Clone, Repo: p.repo, Path: clone, Branch: "agents/y"}}
	check := func(what string, want git.Changes, most int) {
		t.Helper()
		commands = 0
		w := Of(r, git.LookClone(clone), &session.Live{PlaceUp: true, WorkspaceStamp: rundir.StampWorkspace(clone, p.now())}, func(session.RuntimeSpec) (session.Runtime, error) { return holder{commands: &commands}, nil })
		c := p.counter()
		c.Refresh(t.Context(), false, w)
		if n := c.Known(w.Checkout); n == nil || n.Changes != want || commands != most {
			t.Errorf("%s: %+v by %d commands, want %+v by %d", what, n, commands, want, most)
		}
	}
	check("the first time", git.Changes{}, 1)
	check("just made, so that a change may keep its stamp", git.Changes{}, 1)
	p.settle()
	check("once more", git.Changes{}, 1)
	check("nothing has changed", git.Changes{}, 0)
	p.git(p.repo, "commit", "-q", "--allow-empty", "-m", "theirs")
	p.git(clone, "commit", "-q", "--allow-empty", "-m", "mine")
	p.settle()
	check("a commit, and the base has moved", git.Changes{Ahead: 1, Behind: 1}, 1)
	check("nothing has changed", git.Changes{Ahead: 1, Behind: 1}, 0)
	p.write(clone, "new", "1\n")
	p.settle()
	check("a new file", git.Changes{Untracked: 1, Ahead: 1, Behind: 1}, 1)
	check("nothing has changed", git.Changes{Untracked: 1, Ahead: 1, Behind: 1}, 0)
	if err := (git.Volume{Path: clone, Run: git.ShellHere}).Offer(t.Context(), p.repo, "agents/y", p.revision(p.repo, "main~1"), p.revision(p.repo, "main")); err != nil {
		t.Fatal(err)
	}
	check("it was brought the base", git.Changes{Untracked: 1, Ahead: 1, Behind: 1}, 2)
}

// TestBroughtBase checks that a clone which was brought the base is behind until its agent has merged
// that, and that what it has of the base does not count as its work.
func TestBroughtBase(t *testing.T) {
	p := newProject(t)
	clone := filepath.Join(t.TempDir(), "clone")
	if _, err := git.AddClone(t.Context(), p.repo, clone, "agents/y", "", nil); err != nil {
		t.Fatal(err)
	}
	p.git(clone, "commit", "-q", "--allow-empty", "-m", "mine")
	w := Of(session.Record{Tree: session.WorkspaceState{Mode: session.Clone, Repo: p.repo, Path: clone, Branch: "agents/y"}}, git.LookClone(clone), nil, nil)
	check := func(what string, ahead, behind int) {
		t.Helper()
		c := NewCounter(t.TempDir())
		c.Refresh(t.Context(), true, w)
		if n := c.Known(w.Checkout); n == nil || n.Ahead != ahead || n.Behind != behind {
			t.Errorf("%s: %+v, want %d ahead and %d behind", what, n, ahead, behind)
		}
	}
	p.git(p.repo, "commit", "-q", "--allow-empty", "-m", "theirs")
	check("before", 1, 1)
	offer := func(base string) {
		t.Helper()
		v := git.Volume{Path: clone, Run: git.ShellHere}
		if err := v.Offer(t.Context(), p.repo, "agents/y", p.revision(p.repo, "agents/x"), p.revision(p.repo, base)); err != nil {
			t.Fatal(err)
		}
	}
	offer("main")
	check("offered", 1, 1)
	p.git(p.repo, "commit", "-q", "--allow-empty", "-m", "more of theirs")
	check("and there is more", 1, 2)
	p.git(clone, "merge", "-q", git.BaseRef)
	check("merged", 2, 1)
	p.git(p.repo, "switch", "-q", "-c", "fetched")
	p.git(p.repo, "commit", "-q", "--allow-empty", "-m", "of others")
	p.git(p.repo, "update-ref", "refs/remotes/origin/main", "HEAD")
	p.git(p.repo, "switch", "-q", "main")
	check("more was fetched", 2, 2)
	offer("origin/main")
	p.git(clone, "merge", "-q", git.BaseRef)
	check("that was merged", 4, 0)
}
