package changes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// project is a repository with a worktree, and a counter of it.
type project struct {
	*testing.T
	repo, tree, data string
	movedAt          time.Time
	late             time.Duration // what the counter's clock is ahead
	processes        atomic.Int32  // of git, for counts
}

func newProject(t *testing.T) *project {
	dir := t.TempDir()
	p := &project{T: t, repo: filepath.Join(dir, "repo"), tree: filepath.Join(dir, "tree"), data: filepath.Join(dir, "data")}
	for _, d := range []string{p.repo, p.data} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.git(p.repo, "init", "-q", "-b", "main")
	p.write(p.repo, "a/tracked", "1\n2\n")
	p.write(p.repo, "other/deep/tracked", "1\n2\n")
	p.git(p.repo, "add", "-A")
	p.git(p.repo, "commit", "-q", "-m", "start")
	p.git(p.repo, "worktree", "add", "-q", "-b", "agents/x", p.tree)
	return p
}

func (p *project) git(dir string, args ...string) {
	p.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.invalid"}, args...)...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		p.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// revision returns the commit that a revision is in a directory.
func (p *project) revision(dir, of string) string {
	p.Helper()
	out, err := git.Here(dir)(p.Context(), "rev-parse", of)
	if err != nil {
		p.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (p *project) write(dir, name, text string) {
	p.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

// settle makes all files look as if they had last changed long ago, by the counter's clock.
func (p *project) settle() { p.late += 3 * time.Second }

func (p *project) counter() *Counter {
	c := NewCounter(p.data)
	c.now = p.now
	return c
}

func (p *project) now() time.Time { return time.Now().Add(p.late) }

func (p *project) workspace() Workspace {
	return Workspace{Checkout: git.Look(p.tree), Repo: p.repo, Branch: "agents/x", MovedAt: p.movedAt,
		Git: func(ctx context.Context, args ...string) (string, error) {
			p.processes.Add(1)
			return git.Here(p.tree)(ctx, args...)
		}}
}

// look counts as a command does, and returns the numbers and how many processes that took.
func (p *project) look() (changes string, processes int) {
	p.Helper()
	p.processes.Store(0)
	c, w := p.counter(), p.workspace()
	c.Refresh(p.Context(), false, w)
	n := c.Known(w.Checkout)
	if n == nil {
		p.Fatal("nothing was counted")
	}
	return fmt.Sprintf("+%d −%d ?%d ↑%d", n.Added, n.Removed, n.Untracked, n.Ahead), int(p.processes.Load())
}

func (p *project) check(why, want string, most int) {
	p.Helper()
	if got, n := p.look(); got != want || n > most || n > 0 != (most > 0) {
		p.Errorf("%s: %s by %d processes, want %s by %d", why, got, n, want, most)
	}
}

func TestCounter(t *testing.T) {
	p := newProject(t)
	p.settle()
	p.check("the first time", "+0 −0 ?0 ↑0", 3)
	p.check("nothing has changed", "+0 −0 ?0 ↑0", 0)
	p.write(p.tree, "new", "1\n")
	p.settle()
	p.check("a file is new: HEAD is the same, so that its commits are not counted", "+0 −0 ?1 ↑0", 2)
	p.check("nothing has changed", "+0 −0 ?1 ↑0", 0)
	p.git(p.tree, "add", "new")
	p.settle()
	p.check("it was added to the index", "+1 −0 ?0 ↑0", 2)
	p.write(p.tree, "new", "1\n2\n")
	p.settle()
	p.check("it was edited again, and not added", "+2 −0 ?0 ↑0", 2)
	p.git(p.tree, "commit", "-q", "-a", "-m", "work")
	p.settle()
	p.check("a commit", "+2 −0 ?0 ↑1", 3)
	p.write(p.repo, "theirs", "1\n")
	p.git(p.repo, "add", "-A")
	p.git(p.repo, "commit", "-q", "-m", "theirs")
	p.settle()
	p.check("the base has moved", "+2 −0 ?0 ↑1", 3)
	p.git(p.tree, "merge", "-q", "--no-edit", "main")
	p.settle()
	p.check("a merge", "+2 −0 ?0 ↑2", 3)
	p.git(p.repo, "pack-refs", "--all")
	p.settle()
	p.check("refs were packed", "+2 −0 ?0 ↑2", 3)
	p.check("nothing has changed", "+2 −0 ?0 ↑2", 0)
}

// What no stamp shows is counted when the session has had output since, else in the end.
func TestHiddenEdit(t *testing.T) {
	p := newProject(t)
	p.settle()
	p.check("the first time", "+0 −0 ?0 ↑0", 3)
	p.write(p.tree, "other/deep/tracked", "1\n") // in place
	p.check("not seen yet", "+0 −0 ?0 ↑0", 0)
	p.movedAt = p.now()
	p.check("just counted", "+0 −0 ?0 ↑0", 0)
	p.settle()
	p.check("the session has had output", "+0 −1 ?0 ↑0", 2)
	p.settle()
	p.movedAt = time.Time{}
	p.write(p.tree, "a/tracked", "1\n")
	p.check("not seen yet", "+0 −1 ?0 ↑0", 0)
	p.late += maxAge
	p.check("too old", "+0 −2 ?0 ↑0", 2)
}

// A change right after a count may have the same stamp, so it is counted again.
func TestRacy(t *testing.T) {
	p := newProject(t)
	p.write(p.tree, "new", "1\n")
	p.check("the first time", "+0 −0 ?1 ↑0", 3)
	p.check("it may have changed since", "+0 −0 ?1 ↑0", 3)
	p.settle()
	p.check("once more", "+0 −0 ?1 ↑0", 3)
	p.check("nothing has changed", "+0 −0 ?1 ↑0", 0)
}

// A Counter that looks all the time, as watch and the hub do, does not count all the time.
func TestShare(t *testing.T) {
	p := newProject(t)
	c := p.counter()
	began, spent := time.Now(), atomic.Int64{} // what git takes is all the time that goes by
	c.now = func() time.Time { return began.Add(time.Duration(spent.Load())) }
	w := p.workspace()
	slow := w.Git
	w.Git = func(ctx context.Context, args ...string) (string, error) {
		spent.Add(int64(20 * time.Millisecond))
		return slow(ctx, args...)
	}
	for i := range 5 {
		p.write(p.tree, "new", strings.Repeat("1\n", i))
		c.Refresh(t.Context(), false, w)
	}
	if n := p.processes.Load(); n != 3 {
		t.Errorf("%d processes", n)
	}
	if c.Refresh(t.Context(), true, w); p.processes.Load() == 3 {
		t.Error("not even when it was asked for")
	}
}

// What cannot be counted stays as it was counted last.
func TestUncounted(t *testing.T) {
	p := newProject(t)
	p.check("the first time", "+0 −0 ?0 ↑0", 3)
	p.write(p.tree, "new", "1\n")
	c, w := p.counter(), p.workspace()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.Refresh(ended, true, w)
	w.Git = nil
	c.Refresh(t.Context(), true, w)
	if n := c.Known(w.Checkout); n == nil || n.Untracked != 0 {
		t.Errorf("%+v", n)
	}
	if n := c.Known(session.Checkout{Path: p.tree}); n != nil {
		t.Errorf("of what is no checkout any more: %+v", n)
	}
}

// The file is shared: none forgets what another has counted, and a damaged one is made anew.
func TestFile(t *testing.T) {
	p := newProject(t)
	second := filepath.Join(filepath.Dir(p.tree), "second")
	p.git(p.repo, "worktree", "add", "-q", "-b", "agents/y", second)
	one, two := p.counter(), p.counter()
	w, v := p.workspace(), p.workspace()
	v.Checkout, v.Branch, v.Git = git.Look(second), "agents/y", git.Here(second)
	one.Known(w.Checkout)
	two.Refresh(t.Context(), false, v)
	one.Refresh(t.Context(), false, w)
	if c := p.counter(); c.Known(w.Checkout) == nil || c.Known(v.Checkout) == nil {
		t.Error("one has overwritten the other's")
	}
	p.git(p.repo, "worktree", "remove", second)
	one.Refresh(t.Context(), true, w)
	if b, err := os.ReadFile(filepath.Join(p.data, FileName)); err != nil || strings.Contains(string(b), second) {
		t.Errorf("%s, %v", b, err)
	}
	p.write(p.data, FileName, "{damaged")
	p.check("damaged", "+0 −0 ?0 ↑0", 3)
	p.write(filepath.Dir(p.data), "x", "")
	p.data = filepath.Join(p.data, "..", "x", "y") // cannot be written
	p.check("not kept", "+0 −0 ?0 ↑0", 3)
}
