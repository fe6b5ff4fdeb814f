package git

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clonesOf returns clones of a repository on a new branch, by how they are reached.
func clonesOf(t *testing.T, branch string) map[string]func() (repo string, v Volume) {
	here := func(shell func(path string) Shell) func() (string, Volume) {
		return func() (string, Volume) {
			repo, path := newRepo(t), filepath.Join(folder(t), "a clone")
			if _, err := AddClone(t.Context(), repo, path, branch, "", nil); err != nil {
				t.Fatal(err)
			}
			return repo, Volume{Path: path, Run: shell(path)}
		}
	}
	return map[string]func() (string, Volume){
		"on this machine": here(func(string) Shell { return ShellHere }),
		"in a container":  here(func(path string) Shell { return FileShell(path, withoutInput) }),
		"on a volume":     func() (string, Volume) { return newVolume(t, branch) },
	}
}

// withoutInput runs a command line as a container does that nobody attaches to.
func withoutInput(ctx context.Context, argv []string) (string, error) {
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", `exec "$@"`, "sh"}, argv...)...)
	c.Dir = "/"
	out, err := c.CombinedOutput()
	return string(out), err
}

// diverge adds a commit to a clone, and another to its base.
func diverge(t *testing.T, repo string, v Volume) {
	t.Helper()
	write(t, filepath.Join(v.Path, "mine.txt"), "mine\n")
	commit(t, v.Path, "mine")
	write(t, filepath.Join(repo, "theirs.txt"), "theirs\n")
	commit(t, repo, "theirs")
}

// result makes a commit with the work of a clone and the base, as a refresh does.
func result(t *testing.T, repo string, v Volume, branch string, rewrite bool) Move {
	t.Helper()
	const ref = "refs/agentform/x"
	f, err := v.Fetch(t.Context(), repo, branch, ref)
	if err != nil {
		t.Fatal(err)
	}
	base := git(t, repo, "rev-parse", "main")
	scratch := filepath.Join(folder(t), "scratch")
	git(t, repo, "worktree", "add", "-q", "--detach", scratch, f.Commit)
	git(t, scratch, map[bool]string{false: "merge", true: "rebase"}[rewrite], "-q", "main")
	to := git(t, scratch, "rev-parse", "HEAD")
	git(t, repo, "worktree", "remove", scratch)
	return Move{Branch: branch, From: f.Commit, To: to, Base: base, Rewrite: rewrite}
}

// TestMoveClone checks that a clone gets the commits of its base, however it is reached, and that
// its base is the newer one from then on.
func TestMoveClone(t *testing.T) {
	t.Parallel()
	const branch = "agents/x"
	for name, newClone := range clonesOf(t, branch) {
		for _, rewrite := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				repo, v := newClone()
				write(t, filepath.Join(v.Path, "mine.txt"), "mine\n")
				commit(t, v.Path, "mine")
				write(t, filepath.Join(v.Path, "notes"), "not tracked\n")
				write(t, filepath.Join(repo, "note?"), "its name is no pattern\n")
				write(t, filepath.Join(repo, "a.txt"), "two\n")
				commit(t, repo, "theirs")
				m := result(t, repo, v, branch, rewrite)
				if err := v.Move(t.Context(), repo, m); err != nil {
					t.Fatal(err)
				}
				if at := git(t, v.Path, "rev-parse", "HEAD", branch); at != m.To+"\n"+m.To {
					t.Errorf("it is at %s, want %s", at, m.To)
				}
				if text, err := os.ReadFile(filepath.Join(v.Path, "a.txt")); err != nil || string(text) != "two\n" {
					t.Errorf("a.txt: %q, %v", text, err)
				}
				if out := git(t, v.Path, "status", "--porcelain", "--untracked-files=normal"); out != "?? notes" {
					t.Errorf("status: %s", out)
				}
				if merges := git(t, v.Path, "rev-list", "--merges", "--count", "HEAD"); merges != map[bool]string{false: "1", true: "0"}[rewrite] {
					t.Errorf("%s merges", merges)
				}
				start, err := v.Start(t.Context(), branch)
				if err != nil || start != m.Base {
					t.Errorf("its base is %s, %v, want %s", start, err, m.Base)
				}
				if left, _ := filepath.Glob(filepath.Join(v.Path, ".git", "agentform*")); len(left) > 0 {
					t.Errorf("it has left %q", left)
				}
			})
		}
	}
}

// TestMoveCloneRefuses checks that a clone is not moved that is in use.
func TestMoveCloneRefuses(t *testing.T) {
	t.Parallel()
	const branch = "agents/x"
	for name, x := range map[string]struct {
		meanwhile func(path string)
		want      string
	}{
		"committed":  {func(path string) { commit(t, path, "more") }, "the branch has moved in the meantime"},
		"switched":   {func(path string) { git(t, path, "switch", "-q", "-c", "other") }, "the branch has moved in the meantime"},
		"changed":    {func(path string) { write(t, filepath.Join(path, "mine.txt"), "another\n") }, "files have changed in the meantime"},
		"in the way": {func(path string) { write(t, filepath.Join(path, "theirs.txt"), "mine\n") }, "theirs.txt"},
		"ignored": {func(path string) {
			write(t, filepath.Join(path, ".git", "info", "exclude"), "*.txt\n")
			write(t, filepath.Join(path, "theirs.txt"), "mine\n")
		}, "in the way"},
		"damaged":     {func(path string) { _ = os.RemoveAll(filepath.Join(path, ".git", "objects")) }, ""},
		"not a clone": {func(path string) { _ = os.RemoveAll(filepath.Join(path, ".git")) }, ""},
	} {
		for way, newClone := range clonesOf(t, branch) {
			repo, v := newClone()
			diverge(t, repo, v)
			m := result(t, repo, v, branch, way == "in a container")
			x.meanwhile(v.Path)
			tip := func() string {
				out, _ := tryGit(v.Path, "rev-parse", "--verify", branch)
				return out
			}
			was := tip()
			err := v.Move(t.Context(), repo, m)
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s, %s: %v", name, way, err)
			}
			if text, err := os.ReadFile(filepath.Join(v.Path, "theirs.txt")); err == nil && string(text) != "mine\n" {
				t.Errorf("%s, %s: its file is overwritten", name, way)
			}
			if now := tip(); now != was {
				t.Errorf("%s, %s: it has moved from %s to %s", name, way, was, now)
			}
		}
	}
}

// TestOffer checks that an agent can merge the base that its clone was offered.
func TestOffer(t *testing.T) {
	t.Parallel()
	const branch = "agents/x"
	for way, newClone := range clonesOf(t, branch) {
		repo, v := newClone()
		write(t, filepath.Join(repo, "theirs.txt"), "theirs\n")
		commit(t, repo, "theirs")
		from, base := git(t, v.Path, "rev-parse", "HEAD"), git(t, repo, "rev-parse", "HEAD")
		if err := v.Offer(t.Context(), repo, branch, from, base); err != nil {
			t.Errorf("%s: %v", way, err)
			continue
		}
		if at := git(t, v.Path, "rev-parse", "HEAD"); at != from {
			t.Errorf("%s: its branch has moved to %s", way, at)
		}
		git(t, v.Path, "merge", "-q", BaseRef)
		if at := git(t, v.Path, "rev-parse", "HEAD"); at != base {
			t.Errorf("%s: it is at %s", way, at)
		}
		if start, err := v.Start(t.Context(), branch); err != nil || start != base {
			t.Errorf("%s: its base is %s, %v", way, start, err)
		}
	}
}

// TestBring checks that a clone has a commit that it was brought, and nothing else has changed.
func TestBring(t *testing.T) {
	t.Parallel()
	for way, newClone := range clonesOf(t, "agents/x") {
		repo, v := newClone()
		commit(t, repo, "theirs")
		from, commit, refs := git(t, v.Path, "rev-parse", "HEAD"), git(t, repo, "rev-parse", "HEAD"), git(t, v.Path, "show-ref")
		if err := v.Bring(t.Context(), repo, commit, from); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		if kind, err := tryGit(v.Path, "cat-file", "-t", commit); err != nil || kind != "commit\n" {
			t.Errorf("%s: %s", way, kind)
		}
		if now := git(t, v.Path, "show-ref"); now != refs {
			t.Errorf("%s: refs were\n%s\nand are\n%s", way, refs, now)
		}
	}
}

// TestHostileInput checks that the input of a command in a container is written to no file outside
// of the clone, whatever its agent has put there.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	outside := folder(t)
	victim := filepath.Join(outside, "victim")
	for name, trap := range map[string]func(path string) error{
		"a link to a file":      func(path string) error { return os.Symlink(victim, filepath.Join(path, inputFile)) },
		"a link to a directory": func(path string) error { return os.Symlink(outside, filepath.Join(path, ".git")) },
		"a directory":           func(path string) error { return os.MkdirAll(filepath.Join(path, inputFile, "x"), 0o755) },
	} {
		write(t, victim, "precious")
		path := folder(t)
		if name != "a link to a directory" {
			write(t, filepath.Join(path, ".git", "HEAD"), "ref: refs/heads/x\n")
		}
		if err := trap(path); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := FileShell(path, withoutInput)(t.Context(), strings.NewReader("harm"), &out, "cat")
		if worked := name == "a link to a file"; worked != (err == nil) || worked && out.String() != "harm" {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
		entries, _ := os.ReadDir(outside)
		if text, _ := os.ReadFile(victim); string(text) != "precious" || len(entries) != 1 {
			t.Errorf("%s: %q, %v", name, text, entries)
		}
	}
	err := FileShell(folder(t), withoutInput)(t.Context(), nil, io.Discard, "sh", "-c", "echo it fails; exit 3")
	if err == nil || err.Error() != "exit status 3: it fails" {
		t.Errorf("%v", err)
	}
}

// TestMoveCloneOfLastMoment checks that a commit is kept that an agent makes right before git moves its
// branch.
func TestMoveCloneOfLastMoment(t *testing.T) {
	const branch = "agents/x"
	for way, newClone := range clonesOf(t, branch) {
		repo, v := newClone()
		diverge(t, repo, v)
		m := result(t, repo, v, branch, true)
		undo := beforeReset(t, v.Path)
		err := v.Move(t.Context(), repo, m)
		undo()
		if said := git(t, v.Path, "log", "-1", "--format=%s", branch); err == nil || !strings.Contains(err.Error(), "moved in the meantime") || said != "last" {
			t.Errorf("%s: %v, the last commit is %q", way, err, said)
		}
	}
}
