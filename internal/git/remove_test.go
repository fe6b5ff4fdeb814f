package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a fresh worktree of repo on branch x, with one commit of its own.
func tree(t *testing.T, repo string) string {
	t.Helper()
	path := repo + " tree"
	if _, err := AddWorktree(t.Context(), repo, path, "x", ""); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(path, "b.txt"), "b\n")
	commit(t, path, "work")
	return path
}

func TestRemoveWorktree(t *testing.T) {
	repo := newRepo(t)
	path := tree(t, repo)
	tip := git(t, path, "rev-parse", "x")
	write(t, filepath.Join(path, "ignored"), "built")
	write(t, filepath.Join(path, "b.txt"), "stashed\n")
	git(t, path, "stash")
	if err := RemoveWorktree(t.Context(), repo, path); err != nil {
		t.Fatal(err)
	}
	if !gone(path) || len(strings.Split(git(t, repo, "worktree", "list"), "\n")) != 1 {
		t.Error("it still exists")
	}
	if got := git(t, repo, "rev-parse", "x"); got != tip {
		t.Errorf("the branch is at %s, want %s", got, tip)
	}
	if got := git(t, repo, "stash", "list"); !strings.Contains(got, "stash@{0}") {
		t.Errorf("the stash is gone: %q", got)
	}
	if err := RemoveWorktree(t.Context(), repo, path); err != nil {
		t.Errorf("again: %v", err)
	}
	// One whose directory is gone is forgotten.
	git(t, repo, "worktree", "add", "-q", path, "x")
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := RemoveWorktree(t.Context(), repo, path); err != nil {
		t.Error(err)
	}
	if out := git(t, repo, "worktree", "list"); strings.Contains(out, "prunable") {
		t.Errorf("it is still known: %s", out)
	}
}

// Work that is nowhere else is never removed.
func TestRisk(t *testing.T) {
	t.Parallel()
	inner := func(t *testing.T, p string) string {
		git(t, p, "worktree", "add", "-q", "ignored/sub", "-b", "sub")
		return p + "/ignored/sub"
	}
	for name, c := range map[string]struct {
		do   func(t *testing.T, path string)
		want Risk
		says string
	}{
		"a worktree below it": {func(t *testing.T, p string) { write(t, inner(t, p)+"/b.txt", "x") },
			Risk{Nested: "a worktree with 1 uncommitted change: PATH/ignored/sub"}, "a worktree with 1 uncommitted change: PATH/ignored/sub"},
		"a detached one below it": {func(t *testing.T, p string) {
			git(t, inner(t, p), "switch", "-q", "--detach")
			commit(t, p+"/ignored/sub", "work")
		}, Risk{Nested: "a worktree with 1 commit on no branch: PATH/ignored/sub"}, "a worktree with 1 commit on no branch: PATH/ignored/sub"},
		"a locked one below it": {func(t *testing.T, p string) { git(t, p, "worktree", "lock", inner(t, p)) },
			Risk{Nested: "a locked worktree: PATH/ignored/sub"}, "a locked worktree: PATH/ignored/sub"},
		"an ignored repository": {func(t *testing.T, p string) {
			git(t, p, "init", "-q", "ignored/lib")
			commit(t, p+"/ignored/lib", "work")
		}, Risk{Nested: "a repository with 1 commit that no remote has: PATH/ignored/lib/.git"}, "a repository with 1 commit that no remote has: PATH/ignored/lib/.git"},
		"dropped": {func(t *testing.T, p string) {
			git(t, p, "switch", "-q", "--detach")
			commit(t, p, "work")
			git(t, p, "switch", "-q", "x")
		}, Risk{Dropped: 1}, "1 commit only in the reflog"},
		"changed":      {func(t *testing.T, p string) { write(t, p+"/b.txt", "more\n") }, Risk{Uncommitted: 1}, "1 uncommitted change"},
		"staged":       {func(t *testing.T, p string) { write(t, p+"/c", ""); git(t, p, "add", "c") }, Risk{Uncommitted: 1}, "1 uncommitted change"},
		"deleted":      {func(t *testing.T, p string) { os.Remove(p + "/b.txt") }, Risk{Uncommitted: 1}, "1 uncommitted change"},
		"moved":        {func(t *testing.T, p string) { git(t, p, "mv", "b.txt", "c") }, Risk{Uncommitted: 2}, "2 uncommitted changes"},
		"untracked":    {func(t *testing.T, p string) { write(t, p+"/new/a", ""); write(t, p+"/ne\nw", "") }, Risk{Untracked: 2}, "2 untracked files"},
		"a repository": {func(t *testing.T, p string) { git(t, p, "init", "-q", "inner") }, Risk{Untracked: 1}, "1 untracked file"},
		"assumed":      {hide("--assume-unchanged"), Risk{Uncommitted: 1}, "1 uncommitted change"},
		"skipped":      {hide("--skip-worktree"), Risk{Uncommitted: 1}, "1 uncommitted change"},
		"skipped, mode": {func(t *testing.T, p string) {
			git(t, p, "update-index", "--skip-worktree", "b.txt")
			os.Chmod(p+"/b.txt", 0o755)
		}, Risk{Uncommitted: 1}, "1 uncommitted change"},
		"branch killed": {func(t *testing.T, p string) { git(t, p, "update-ref", "-d", "refs/heads/x") }, Risk{Uncommitted: 3, Dropped: 1}, "3 uncommitted changes, 1 commit only in the reflog"},
		"detached": {func(t *testing.T, p string) {
			git(t, p, "checkout", "-q", "--detach")
			commit(t, p, "1")
			commit(t, p, "2")
		}, Risk{Unreachable: 2}, "2 commits on no branch"},
		"own ref": {func(t *testing.T, p string) {
			commit(t, p, "1")
			git(t, p, "update-ref", "refs/worktree/keep", "HEAD")
			git(t, p, "reset", "-q", "--hard", "HEAD~1")
		}, Risk{Unreachable: 1}, "1 commit on no branch"},
		"rebase": {func(t *testing.T, p string) {
			conflict(t, p)
			tryGit(p, "rebase", "theirs")
			git(t, p, "checkout", "-q", "--theirs", "a.txt")
			git(t, p, "add", "a.txt")
			git(t, p, "commit", "-q", "-m", "picked")
		}, Risk{Unreachable: 1, Busy: "rebase"}, "1 commit on no branch, rebase under way"},
		"merge": {func(t *testing.T, p string) {
			conflict(t, p)
			tryGit(p, "merge", "theirs")
		}, Risk{Uncommitted: 1, Busy: "merge"}, "1 uncommitted change, merge under way"},
		"cherry-pick": {func(t *testing.T, p string) {
			conflict(t, p)
			tryGit(p, "cherry-pick", "theirs")
		}, Risk{Uncommitted: 1, Busy: "cherry-pick"}, "1 uncommitted change, cherry-pick under way"},
		"bisect": {func(t *testing.T, p string) {
			git(t, p, "bisect", "start", "HEAD", "HEAD~1")
		}, Risk{Busy: "bisect"}, "bisect under way"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := newRepo(t)
			path := tree(t, repo)
			if r, err := AtRisk(t.Context(), path, repo); err != nil || r.Any() || r.String() != "nothing" {
				t.Fatalf("before: %v, %v", r, err)
			}
			c.do(t, path)
			c.want.Nested, c.says = strings.ReplaceAll(c.want.Nested, "PATH", path), strings.ReplaceAll(c.says, "PATH", path)
			r, err := AtRisk(t.Context(), path, repo)
			if err != nil || r != c.want || r.String() != c.says {
				t.Errorf("AtRisk = %+v %q, %v, want %+v %q", r, r, err, c.want, c.says)
			}
			err = RemoveWorktree(t.Context(), repo, path)
			var risk *RiskError
			if !errors.As(err, &risk) || risk.Risk != c.want || !strings.Contains(err.Error(), c.says) {
				t.Errorf("RemoveWorktree = %v, want a RiskError", err)
			}
			if gone(filepath.Join(path, ".git")) {
				t.Error("it was removed")
			}
		})
	}
}

// TestRemoveWorktreeWithCleanOnes: worktrees below it that hold nothing go too,
// and hold their branches no longer; a clone of what is elsewhere keeps nobody.
func TestRemoveWorktreeWithCleanOnes(t *testing.T) {
	repo := newRepo(t)
	path := tree(t, repo)
	git(t, path, "worktree", "add", "-q", "ignored/sub", "-b", "sub")
	git(t, path+"/ignored/sub", "worktree", "add", "-q", "ignored/deep", "-b", "deep")
	git(t, repo, "clone", "-q", repo, path+"/ignored/copy")
	commit(t, path, "amended")
	git(t, path, "commit", "-q", "--amend", "--allow-empty", "-m", "again") // the branch's reflog stays
	if err := RemoveWorktree(t.Context(), repo, path); err != nil {
		t.Fatal(err)
	}
	if out := git(t, repo, "worktree", "list"); !gone(path) || strings.Count(out, "\n") > 0 {
		t.Errorf("worktrees: %s", out)
	}
	git(t, repo, "switch", "-q", "deep")
}

// hide changes one file and keeps git status from telling, and marks others
// that are as they were or not there.
func hide(flag string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		git(t, path, "update-index", flag, "a.txt", "b.txt", ".gitignore")
		write(t, filepath.Join(path, "b.txt"), "hidden\n")
		os.Remove(filepath.Join(path, "a.txt"))
	}
}

// What git refuses is refused with its words; what is not a worktree of the
// repository is not touched.
func TestRemoveRefused(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Dir(repo)
	path := tree(t, repo)
	git(t, repo, "worktree", "lock", "--reason", "mine", path)
	if err := RemoveWorktree(t.Context(), repo, path); err == nil || !strings.Contains(err.Error(), "mine") {
		t.Errorf("locked: %v", err)
	}
	git(t, repo, "worktree", "unlock", path)
	git(t, dir, "clone", "-q", repo, "lib")
	if err := RemoveWorktree(t.Context(), repo, repo); err == nil || !strings.Contains(err.Error(), "main working tree") {
		t.Errorf("the main checkout: %v", err)
	}
	if err := RemoveWorktree(t.Context(), repo, dir+"/lib"); err == nil || !strings.Contains(err.Error(), "not of") {
		t.Errorf("another repository's: %v", err)
	}
	if err := os.Mkdir(dir+"/plain", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := RemoveWorktree(t.Context(), repo, dir+"/plain"); !errors.Is(err, ErrNotRepository) {
		t.Errorf("a plain folder: %v", err)
	}
	for _, p := range []string{path, repo, dir + "/lib", dir + "/plain"} {
		if gone(p) {
			t.Errorf("%s was removed", p)
		}
	}
}

// TestRiskOfSubmodulesOfAGoneWorktree: the repositories of a linked worktree's
// submodules are in the repository, and go with what it knows of the worktree.
func TestRiskOfSubmodulesOfAGoneWorktree(t *testing.T) {
	repo := newRepo(t)
	lib, path := filepath.Join(filepath.Dir(repo), "lib"), filepath.Join(filepath.Dir(repo), "w")
	git(t, filepath.Dir(repo), "init", "-q", lib)
	commit(t, lib, "lib")
	git(t, repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub")
	commit(t, repo, "submodule")
	git(t, repo, "worktree", "add", "-q", path, "-b", "x")
	update(t, path)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if risk, err := AtRisk(t.Context(), path, repo); err != nil || risk.Any() {
		t.Errorf("of a submodule that has all from its remote: %v, %v", risk, err)
	}
	git(t, repo, "worktree", "prune")

	git(t, repo, "worktree", "add", "-q", path, "x")
	inUse(t, path)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(repo, ".git", "worktrees", "w", "modules", "sub")
	risky := (*RiskError)(nil)
	if err := RemoveWorktree(t.Context(), repo, path); !errors.As(err, &risky) || !strings.Contains(risky.Risk.Nested, "1 commit that no remote has: "+store) {
		t.Errorf("removed: %v", err)
	}
	if _, err := AddWorktree(t.Context(), repo, path, "x", ""); !errors.As(err, &risky) {
		t.Errorf("made anew: %v", err)
	}
	if gone(store) {
		t.Error("the submodule's commit is lost")
	}
}

// TestRemoveWithSubmodules: git refuses every worktree with submodules. Those that
// hold nothing of their own do not keep it; a commit that no remote has does, also
// where the worktree uses it and is clean, and where the directory of the submodule is gone.
func TestRemoveWithSubmodules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   string // the worktree with the submodule, below the one that is removed
		do   func(t *testing.T, path string)
		kept string
	}{
		{name: "not initialized"},
		{name: "clean", do: func(t *testing.T, path string) { update(t, path) }},
		{name: "clean, in an inner worktree", in: ".wt/in", do: func(t *testing.T, path string) { update(t, path) }},
		{name: "deinit", do: func(t *testing.T, path string) {
			update(t, path)
			git(t, path, "submodule", "--quiet", "deinit", "-f", "sub")
		}},
		{name: "removed from the branch", do: func(t *testing.T, path string) {
			update(t, path)
			git(t, path, "rm", "-q", "sub")
			commit(t, path, "without it")
		}},
		{name: "removed from the branch, with a commit", kept: "1 commit that no remote has", do: func(t *testing.T, path string) {
			inUse(t, path)
			git(t, path, "rm", "-q", "sub")
			commit(t, path, "without it")
		}},
		{name: "a clone in its place", do: func(t *testing.T, path string) {
			git(t, path, "clone", "-q", filepath.Dir(path)+"/lib", "sub")
		}},
		{name: "locked", kept: "locked", do: func(t *testing.T, path string) { git(t, path, "worktree", "lock", path) }},
		{name: "a file", kept: "sub", do: func(t *testing.T, path string) {
			update(t, path)
			write(t, path+"/sub/new", "work")
		}},
		{name: "a commit in use", kept: "1 commit that no remote has", do: inUse},
		{name: "a commit in use by an inner worktree", in: ".wt/in", kept: "1 commit that no remote has", do: inUse},
		{name: "a commit, and the folder gone", kept: "1 commit that no remote has", do: func(t *testing.T, path string) {
			inUse(t, path)
			git(t, path, "submodule", "--quiet", "deinit", "-f", "sub")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo := newRepo(t)
			lib, path := filepath.Join(filepath.Dir(repo), "lib"), filepath.Join(filepath.Dir(repo), "w")
			git(t, filepath.Dir(repo), "init", "-q", lib)
			commit(t, lib, "lib")
			git(t, repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub")
			write(t, repo+"/.gitignore", ".wt/\n")
			commit(t, repo, "submodule")
			git(t, repo, "worktree", "add", "-q", path, "-b", "x")
			at := path
			if c.in != "" {
				at = filepath.Join(path, c.in)
				git(t, path, "worktree", "add", "-q", at, "-b", "in")
			}
			if c.do != nil {
				c.do(t, at)
			}
			err := RemoveWorktree(t.Context(), repo, path)
			if c.kept == "" && (err != nil || !gone(path) || !gone(filepath.Join(repo, ".git", "worktrees", "w"))) {
				t.Errorf("kept: %v", err)
			}
			if c.kept != "" && (err == nil || !strings.Contains(err.Error(), c.kept) || gone(path)) {
				t.Errorf("removed, or for another reason than %q: %v", c.kept, err)
			}
		})
	}
}

// update checks out the submodules of a worktree.
func update(t *testing.T, path string) {
	git(t, path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
}

// inUse commits in a submodule, and the use of that commit in its worktree.
func inUse(t *testing.T, path string) {
	update(t, path)
	commit(t, path+"/sub", "work")
	commit(t, path, "use it")
}
