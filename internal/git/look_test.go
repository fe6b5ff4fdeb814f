package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

// conflict makes branches ours and theirs that change one line differently; the
// checkout is left on ours.
func conflict(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "checkout", "-q", "-b", "theirs")
	write(t, filepath.Join(dir, "a.txt"), "theirs\n")
	commit(t, dir, "theirs")
	git(t, dir, "checkout", "-q", "-b", "ours/deep", "HEAD~1")
	write(t, filepath.Join(dir, "a.txt"), "ours\n")
	commit(t, dir, "ours")
}

func TestLook(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Dir(repo)
	common := filepath.Join(repo, ".git")
	first := git(t, repo, "rev-parse", "HEAD")
	tree := filepath.Join(dir, "ünï tree")
	look := func(path string, want session.Checkout) {
		t.Helper()
		want.Path, want.Exists = path, true
		if want.Repo != "" {
			want.Git, want.GitDir = true, git(t, path, "rev-parse", "--absolute-git-dir")
		}
		got := Look(path)
		if real, err := filepath.EvalSymlinks(got.GitDir); err == nil && got.GitDir != "" {
			got.GitDir = real // git tells it without links
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("Look(%s) (-want +got):\n%s", path, d)
		}
	}
	look(repo, session.Checkout{Repo: common, Branch: "main"})
	git(t, repo, "worktree", "add", "-q", "-b", "agent/ä", tree)
	look(tree, session.Checkout{Repo: common, Branch: "agent/ä"})
	git(t, tree, "checkout", "-q", "--detach")
	look(tree, session.Checkout{Repo: common, Head: first})
	git(t, tree, "checkout", "-q", "--orphan", "unborn")
	look(tree, session.Checkout{Repo: common, BranchGone: "unborn", Head: strings.TrimSpace(git(t, repo, "rev-parse", "main"))})
	git(t, tree, "checkout", "-q", "-f", "agent/ä")

	conflict(t, tree)
	theirs, ours := git(t, tree, "rev-parse", "theirs"), git(t, tree, "rev-parse", "ours/deep")
	for _, how := range []string{"--merge", "--apply"} {
		if out, err := tryGit(tree, "rebase", how, "theirs"); err == nil {
			t.Fatalf("rebase %s had no conflict: %s", how, out)
		}
		look(tree, session.Checkout{Repo: common, Branch: "ours/deep", Head: theirs, Busy: "rebase"})
		git(t, tree, "rebase", "--abort")
	}
	git(t, tree, "checkout", "-q", "--detach")
	if out, err := tryGit(tree, "rebase", "theirs"); err == nil {
		t.Fatalf("rebase had no conflict: %s", out)
	}
	look(tree, session.Checkout{Repo: common, Head: theirs, Busy: "rebase"})
	git(t, tree, "rebase", "--abort")
	git(t, tree, "checkout", "-q", "ours/deep")
	for range 3 {
		commit(t, tree, "more")
	}
	git(t, tree, "bisect", "start", "HEAD", ours)
	look(tree, session.Checkout{Repo: common, Branch: "ours/deep", Head: git(t, tree, "rev-parse", "HEAD"), Busy: "bisect"})
	git(t, tree, "bisect", "reset")
	git(t, tree, "bisect", "start", "ours/deep", "--") // nothing checked out yet
	look(tree, session.Checkout{Repo: common, Branch: "ours/deep"})
	git(t, tree, "bisect", "reset")

	// Through links, to the checkout and to the repository.
	link := filepath.Join(dir, "link")
	if err := os.Symlink(tree, link); err != nil {
		t.Fatal(err)
	}
	look(link, session.Checkout{Repo: common, Branch: "ours/deep"})
	git(t, dir, "clone", "-q", repo, "clone")
	clone := filepath.Join(dir, "clone")
	if err := os.Rename(filepath.Join(clone, ".git"), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../elsewhere", filepath.Join(clone, ".git")); err != nil {
		t.Fatal(err)
	}
	look(clone, session.Checkout{Repo: filepath.Join(dir, "elsewhere"), Branch: "main"})
	head := filepath.Join(dir, "elsewhere", "HEAD")
	if err := os.Remove(head); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("refs/heads/main", head); err != nil {
		t.Fatal(err)
	}
	look(clone, session.Checkout{Repo: filepath.Join(dir, "elsewhere"), Branch: "main"})
	os.Remove(head)
	write(t, head, "ref: refs/remotes/origin/main\n") // on no branch of its own
	look(clone, session.Checkout{Repo: filepath.Join(dir, "elsewhere")})

	// A submodule is a repository of its own.
	git(t, repo, "submodule", "add", "-q", clone2(t, dir, repo), "sub")
	look(filepath.Join(repo, "sub"), session.Checkout{Repo: filepath.Join(common, "modules", "sub"), Branch: "main"})

	// No checkouts.
	empty, file := filepath.Join(dir, "empty"), filepath.Join(dir, "file")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, file, "")
	look(empty, session.Checkout{Empty: true})
	look(dir, session.Checkout{})
	look(file, session.Checkout{})
	if d := cmp.Diff(session.Checkout{Path: dir + "/none"}, Look(dir+"/none")); d != "" {
		t.Errorf("Look at nothing (-want +got):\n%s", d)
	}
}

// TestLookBranchGone: a HEAD that names a branch which is gone is not on it; one of a
// repository without commits is.
func TestLookBranchGone(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Dir(repo)
	linked, fresh := filepath.Join(dir, "linked"), filepath.Join(dir, "fresh")
	git(t, repo, "worktree", "add", "-q", "-b", "agents/a", linked)
	commit(t, linked, "work")
	tip := git(t, repo, "rev-parse", "agents/a")
	copied := clone2(t, dir, repo)
	git(t, dir, "init", "-q", fresh)
	check := func(when, path, branch, gone, head string) {
		t.Helper()
		for name, look := range map[string]func(string) session.Checkout{"Look": Look, "LookClone": LookClone} {
			if co := look(path); name == "Look" || path != linked {
				if co.Branch != branch || co.BranchGone != gone || co.Head != head || co.Err != nil {
					t.Errorf("%s: %s = %+v", when, name, co)
				}
			}
		}
	}
	check("no commit yet", fresh, "main", "", "")
	check("as it was", linked, "agents/a", "", "")
	git(t, repo, "pack-refs", "--all")
	check("packed", linked, "agents/a", "", "")
	git(t, repo, "update-ref", "-d", "refs/heads/agents/a")
	check("gone", linked, "", "agents/a", tip)
	git(t, repo, "branch", "agents/a/b", "main")
	check("a folder in its place", linked, "", "agents/a", tip)
	if err := os.Remove(filepath.Join(Look(linked).GitDir, "logs", "HEAD")); err != nil {
		t.Fatal(err)
	}
	check("no reflog", linked, "", "agents/a", "")
	git(t, repo, "branch", "-D", "agents/a/b")
	git(t, linked, "branch", "agents/a", tip)
	check("restored", linked, "agents/a", "", "")
	// What a crash of the machine leaves.
	ref := filepath.Join(repo, ".git", "refs", "heads", "agents", "a")
	looks := NewLookCache()
	looks.now = func() time.Time { return time.Now().Add(time.Minute) } // everything is old enough to be remembered
	for range 3 {
		if co := looks.Look(linked); co.Err != nil {
			t.Error(co.Err)
		}
	}
	for what, text := range map[string]string{
		"empty": "", "all zeros": strings.Repeat("0", 40) + "\n", "NULs": strings.Repeat("\x00", 41), "cut off": tip[:39],
	} {
		write(t, ref, text)
		for name, co := range map[string]session.Checkout{"Look": Look(linked), "LookCache": looks.Look(linked)} {
			if co.Err == nil || !strings.Contains(co.Err.Error(), `branch "agents/a" is damaged`) || !strings.HasSuffix(co.Err.Error(), " branch agents/a "+tip) {
				t.Errorf("%s at a branch's file that is %s: %+v", name, what, co)
			}
		}
	}
	write(t, ref, strings.ToUpper(tip)+" \n")
	check("in capital letters", linked, "agents/a", "", "")
	write(t, ref, "ref: refs/heads/main\n")
	check("a branch that stands for another", linked, "agents/a", "", "")
	write(t, ref, "ref: refs/heads/none\n")
	check("a branch that stands for one that is gone", linked, "", "agents/a", tip)
	write(t, ref, "ref: refs/heads/agents/a\n")
	if co := Look(linked); co.BranchGone != "" && co.BranchGone != "agents/a" {
		t.Errorf("a branch that stands for itself: %+v", co)
	}
	write(t, ref, "ref: refs/heads/main\n")
	check("a link", linked, "agents/a", "", "")
	if err := os.Remove(ref); err != nil {
		t.Fatal(err)
	}
	git(t, linked, "branch", "agents/a", tip)
	tip = git(t, copied, "rev-parse", "main")
	git(t, copied, "update-ref", "-d", "refs/heads/main")
	check("a clone's", copied, "", "main", tip)
	if err := errors.Join(os.Remove(filepath.Join(copied, ".git", "packed-refs")), syscall.Mkfifo(filepath.Join(copied, ".git", "packed-refs"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if co := LookClone(copied); co.Err == nil {
		t.Errorf("packed refs that are a pipe: %+v", co)
	}
}

func clone2(t *testing.T, dir, repo string) string {
	t.Helper()
	git(t, dir, "clone", "-q", repo, "other")
	return filepath.Join(dir, "other")
}

func TestLookFails(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Dir(repo)
	cases := map[string]struct {
		spoil func(path string)
		says  string
	}{
		"link to nothing": {func(p string) { os.Remove(p); os.Symlink("nowhere", p) }, "dangling link"},
		"moved":           {func(p string) { write(t, p+"/.git", "gitdir: /nowhere/.git/worktrees/x\n") }, "run there: git worktree repair \""},
		"empty .git":      {func(p string) { os.Mkdir(p+"/.git", 0o700) }, "HEAD is gone"},
		"garbage .git":    {func(p string) { write(t, p+"/.git", strings.Repeat("x", 1<<20)) }, "does not name a repository"},
		"garbage HEAD":    {func(p string) { write(t, p+"/.git/HEAD", "hello\n") }, "neither a branch nor a commit"},
		"empty HEAD":      {func(p string) { write(t, p+"/.git/HEAD", "") }, "neither a branch nor a commit"},
		"HEAD is a pipe":  {func(p string) { os.Mkdir(p+"/.git", 0o700); syscall.Mkfifo(p+"/.git/HEAD", 0o600) }, "is not a regular file"},
		".git is a pipe":  {func(p string) { syscall.Mkfifo(p+"/.git", 0o600) }, "is not a regular file"},
		"a loop":          {func(p string) { os.Symlink(".git", p+"/.git") }, "too many levels"},
	}
	for name, c := range cases {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		c.spoil(path)
		if co := Look(path); co.Err == nil || !strings.Contains(co.Err.Error(), c.says) || !strings.Contains(co.Err.Error(), path) {
			t.Errorf("%s: Look = %+v, want an error that says %q", name, co, c.says)
		}
	}
	write(t, filepath.Join(dir, "file"), "")
	if co := Look(filepath.Join(dir, "file", "below")); co.Err == nil || co.Exists {
		t.Errorf("below a file: %+v, want an error", co)
	}
}

// In a repository with reftable HEAD says .invalid, and git is asked. This git
// stands for one that has reftable.
func TestLookReftable(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Dir(repo)
	write(t, filepath.Join(repo, ".git", "HEAD"), "ref: refs/heads/.invalid\n")
	write(t, filepath.Join(repo, ".git", "reftable", "tables.list"), "")
	path := os.Getenv("PATH")
	commit := strings.Repeat("ab", 20)
	for script, want := range map[string]session.Checkout{
		`echo refs/heads/on/branch`: {Branch: "on/branch"},
		`case "$*" in *symbolic-ref*) exit 1;; *) echo ` + commit + `;; esac`: {Head: commit},
	} {
		writeScript(t, filepath.Join(dir, "bin", "git"), `test -f "$PWD/HEAD" || exit 9`+"\n"+script)
		t.Setenv("PATH", filepath.Join(dir, "bin")+":"+path)
		want.Path, want.Exists, want.Git, want.Repo, want.GitDir = repo, true, true, filepath.Join(repo, ".git"), filepath.Join(repo, ".git")
		if d := cmp.Diff(want, Look(repo)); d != "" {
			t.Errorf("%s (-want +got):\n%s", script, d)
		}
	}
	writeScript(t, filepath.Join(dir, "bin", "git"), `echo "fatal: unknown repository extension" >&2; exit 128`)
	if co := Look(repo); co.Err == nil || !strings.Contains(co.Err.Error(), "unknown repository extension") {
		t.Errorf("a git too old: %+v, want its words", co)
	}
}

func BenchmarkLook(b *testing.B) {
	repo := newRepo(b)
	tree := filepath.Join(filepath.Dir(repo), "tree")
	git(b, repo, "worktree", "add", "-q", "-b", "x", tree)
	for name, path := range map[string]string{"main": repo, "worktree": tree} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if co := Look(path); co.Branch == "" {
					b.Fatal(co)
				}
			}
		})
	}
}
