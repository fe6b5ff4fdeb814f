package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

// newClone is a repository and a clone of it on a new branch.
func newClone(t testing.TB, branch string) (repo, path string) {
	t.Helper()
	repo = newRepo(t)
	path = filepath.Join(filepath.Dir(repo), "ws", "api")
	if made, err := AddClone(t.Context(), repo, path, branch, "", nil); err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	return repo, path
}

func TestAddClone(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	git(t, repo, "tag", "v1")
	git(t, repo, "config", "user.email", "team@example.org")
	git(t, repo, "config", "core.fsmonitor", "/bin/false")
	git(t, repo, "switch", "-q", "-c", "other")
	write(t, filepath.Join(repo, "secret.txt"), "of another branch\n")
	commit(t, repo, "secret")
	secret := strings.TrimSpace(git(t, repo, "rev-parse", "HEAD"))
	git(t, repo, "switch", "-q", "main")
	first := strings.TrimSpace(git(t, repo, "rev-parse", "HEAD"))
	// A commit that no branch is at.
	git(t, repo, "switch", "-q", "--detach")
	write(t, filepath.Join(repo, "loose.txt"), "loose\n")
	commit(t, repo, "loose")
	loose := strings.TrimSpace(git(t, repo, "rev-parse", "HEAD"))
	git(t, repo, "switch", "-q", "main")

	for name, test := range map[string]struct {
		branch, base string
		made         bool
		at           string
	}{
		"new":                       {branch: "agents/api", made: true, at: first},
		"new from another branch":   {branch: "agents/web", base: "other", made: true, at: secret},
		"new from a commit":         {branch: "agents/doc", base: loose, made: true, at: loose},
		"there already":             {branch: "other", base: "v1", at: secret},
		"the branch that is in use": {branch: "main", at: first},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ws", "x")
			if test.made { // an empty directory is as good as none
				if err := os.MkdirAll(path, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			made, err := AddClone(t.Context(), repo, path, test.branch, test.base, nil)
			if err != nil || made != test.made {
				t.Fatalf("made %v, %v", made, err)
			}
			want := session.Checkout{Path: path, Exists: true, Git: true, Repo: filepath.Join(path, ".git"), GitDir: filepath.Join(path, ".git"), Branch: test.branch}
			if diff := cmp.Diff(want, LookClone(path)); diff != "" {
				t.Errorf("clone (-want +got):\n%s", diff)
			}
			if at := strings.TrimSpace(git(t, path, "rev-parse", "HEAD")); at != test.at {
				t.Errorf("at %s, want %s", at, test.at)
			}
			if st := git(t, path, "status", "--porcelain", "--untracked-files=all"); st != "" {
				t.Errorf("status: %s", st)
			}
			if email := strings.TrimSpace(git(t, path, "config", "--local", "user.email")); email != "team@example.org" {
				t.Errorf("commits bear %q", email)
			}
			if _, err := tryGit(path, "cat-file", "-e", secret); test.at != secret && err == nil {
				t.Error("it has a commit of another branch")
			}
			if tag := strings.TrimSpace(git(t, path, "tag")); tag != "v1" {
				t.Errorf("tags %q", tag)
			}
			if config := git(t, path, "config", "--local", "--list"); strings.Contains(config, "fsmonitor") {
				t.Errorf("it has the repository's settings:\n%s", config)
			}
			alone(t, path)
		})
	}
	if refs := git(t, repo, "for-each-ref", "--format=%(refname)"); refs != "refs/heads/main\nrefs/heads/other\nrefs/tags/v1" {
		t.Errorf("the repository's refs are now\n%s", refs)
	}
}

// alone fails the test if a file of the clone is one of somebody else's too, or if
// something was left beside it.
func alone(t *testing.T, path string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(path, ".git"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Sys().(*syscall.Stat_t).Nlink != 1 {
			t.Errorf("%s is linked", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(path, ".git", "objects", "info", "alternates")); err == nil {
		t.Error("it borrows objects")
	}
	if left := beside(t, path); len(left) != 1 {
		t.Errorf("beside it stands %v", left)
	}
}

func beside(t *testing.T, path string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestAddCloneOfOneThatBorrows(t *testing.T) {
	repo := newRepo(t)
	borrower := filepath.Join(filepath.Dir(repo), "borrower")
	git(t, filepath.Dir(repo), "clone", "-q", "--shared", repo, borrower)
	path := filepath.Join(t.TempDir(), "x")
	if _, err := AddClone(t.Context(), borrower, path, "agents/api", "", nil); err != nil {
		t.Fatal(err)
	}
	alone(t, path)
	git(t, path, "fsck", "--strict")
}

// TestAddCloneOfPartOf: a clone of a repository that has only part of its history or
// its files is a sound repository, and what is made in it can be fetched.
func TestAddCloneOfPartOf(t *testing.T) {
	t.Parallel()
	full := newRepo(t)
	write(t, filepath.Join(full, "dir", "b.txt"), "b\n")
	commit(t, full, "second")
	write(t, filepath.Join(full, "a.txt"), "three\n")
	commit(t, full, "third")
	git(t, full, "config", "uploadpack.allowFilter", "true")
	for name, args := range map[string][]string{
		"shallow":              {"--depth=1"},
		"shallow, two commits": {"--depth=2"},
		"partial":              {"--filter=blob:none"},
		"partial and shallow":  {"--filter=blob:none", "--depth=2"},
		"partial, no checkout": {"--filter=blob:none", "--no-checkout"},
		"sparse":               {"--sparse", "--filter=blob:none"},
	} {
		t.Run(name, func(t *testing.T) {
			repo, path := filepath.Join(t.TempDir(), "part"), filepath.Join(t.TempDir(), "ws", "api")
			git(t, filepath.Dir(repo), append(append([]string{"clone", "-q"}, args...), "file://"+full, repo)...)
			if _, err := AddClone(t.Context(), repo, path, "agents/api", "", nil); err != nil {
				t.Fatal(err)
			}
			for _, command := range [][]string{{"fsck", "--strict"}, {"log", "--stat"}, {"gc", "--quiet", "--prune=now"}, {"fsck"}} {
				if out, err := tryGit(path, command...); err != nil {
					t.Fatalf("git %v: %v\n%s", command, err, out)
				}
			}
			if a, b := git(t, repo, "rev-list", "--count", "HEAD"), git(t, path, "rev-list", "--count", "HEAD"); a != b {
				t.Errorf("%s commits, the repository has %s", b, a)
			}
			alone(t, path)
			write(t, filepath.Join(path, "new.txt"), "x")
			commit(t, path, "work")
			if _, err := Fetch(t.Context(), repo, path, "agents/api", "refs/agentform/api/agents/api"); err != nil {
				t.Fatal(err)
			}
			git(t, repo, "fsck")
			if err := RemoveClone(t.Context(), path, repo, Here(path)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAddCloneRefuses(t *testing.T) {
	repo := newRepo(t)
	full := filepath.Join(t.TempDir(), "full")
	write(t, filepath.Join(full, "mine.txt"), "mine\n")
	for name, test := range map[string]struct{ path, branch, base, want string }{
		"a folder with something in it": {path: full, branch: "b", want: "not empty"},
		"a base that is none":           {path: filepath.Join(t.TempDir(), "a", "b"), branch: "b", base: "nowhere", want: "does not exist"},
		"a bad branch":                  {path: filepath.Join(t.TempDir(), "c"), branch: "a..b", want: "invalid branch"},
		"a relative path":               {path: "d", branch: "b", want: "not absolute"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := AddClone(t.Context(), repo, test.path, test.branch, test.base, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(test.path), "b")); err == nil {
				t.Error("it left something behind")
			}
		})
	}
	if got := beside(t, full); len(got) != 1 {
		t.Errorf("beside it: %v", got)
	}
}

// TestAddCloneAfterOneThatWasKilled: what it left is taken away.
func TestAddCloneAfterOneThatWasKilled(t *testing.T) {
	repo := newRepo(t)
	path := filepath.Join(t.TempDir(), "x")
	half := filepath.Join(filepath.Dir(path), asidePrefix+"x-123")
	write(t, filepath.Join(half, ".git", "HEAD"), "ref: refs/heads/b\n")
	if err := os.Chmod(filepath.Join(half, ".git"), 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := AddClone(t.Context(), repo, path, "b", "", nil); err != nil {
		t.Fatal(err)
	}
	alone(t, path)
}

func TestAddCloneForSomebodyElse(t *testing.T) {
	repo := newRepo(t)
	path := filepath.Join(t.TempDir(), "x")
	_, err := AddClone(t.Context(), repo, path, "b", "", &Owner{UID: os.Geteuid() + 4711, GID: 4712})
	if os.Geteuid() != 0 { // only root gives files away
		if err == nil || !strings.Contains(err.Error(), "only root") || len(beside(t, path)) != 0 {
			t.Errorf("%v; beside it %v", err, beside(t, path))
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"", "a.txt", ".git/HEAD"} {
		info, err := os.Lstat(filepath.Join(path, p))
		if err != nil {
			t.Fatal(err)
		}
		if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 4711 || stat.Gid != 4712 {
			t.Errorf("%s is of %d:%d", p, stat.Uid, stat.Gid)
		}
	}
	// It is fetched from all the same.
	if _, err := Fetch(t.Context(), repo, path, "b", "refs/agentform/x/b"); err != nil {
		t.Error(err)
	}
}

func TestRemoveClone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do   func(t *testing.T, path string)
		want string // why it stays; empty: it goes
	}{
		"clean":         {do: func(*testing.T, string) {}},
		"ignored files": {do: func(t *testing.T, p string) { write(t, filepath.Join(p, "ignored"), "x") }},
		"a cache without rights": {do: func(t *testing.T, p string) {
			write(t, filepath.Join(p, "ignored", "f"), "x")
			if err := os.Chmod(filepath.Join(p, "ignored"), 0o500); err != nil {
				t.Fatal(err)
			}
		}},
		"a change": {do: func(t *testing.T, p string) { write(t, filepath.Join(p, "a.txt"), "two\n") }, want: "1 uncommitted change"},
		"a file":   {do: func(t *testing.T, p string) { write(t, filepath.Join(p, "new.txt"), "x") }, want: "1 untracked file"},
		"a commit": {do: func(t *testing.T, p string) {
			write(t, filepath.Join(p, "new.txt"), "x")
			commit(t, p, "work")
		}, want: "1 branch with commits missing from the repository"},
		"a commit, packed": {do: func(t *testing.T, p string) {
			write(t, filepath.Join(p, "new.txt"), "x")
			commit(t, p, "work")
			git(t, p, "pack-refs", "--all")
		}, want: "1 branch with commits missing from the repository"},
		"a detached commit": {do: func(t *testing.T, p string) {
			git(t, p, "switch", "-q", "--detach")
			write(t, filepath.Join(p, "new.txt"), "x")
			commit(t, p, "work")
		}, want: "missing from"},
		"a stash": {do: func(t *testing.T, p string) {
			write(t, filepath.Join(p, "a.txt"), "two\n")
			git(t, p, "stash")
		}, want: "missing from"},
		"a rebase": {do: func(t *testing.T, p string) {
			write(t, filepath.Join(p, ".git", "rebase-merge", "head-name"), "refs/heads/agents/api\n")
		}, want: "rebase under way"},
		"a dropped commit": {do: func(t *testing.T, p string) {
			commit(t, p, "work")
			git(t, p, "reset", "-q", "--hard", "HEAD~1")
		}, want: "1 commit only in the reflog"},
		"a marked file": {do: func(t *testing.T, p string) {
			git(t, p, "update-index", "--assume-unchanged", "a.txt")
			write(t, filepath.Join(p, "a.txt"), "two\n")
		}, want: "1 uncommitted change"},
		"a worktree": {do: func(t *testing.T, p string) {
			git(t, p, "worktree", "add", "-q", "ignored/sub")
			write(t, p+"/ignored/sub/a.txt", "two\n")
		}, want: "a worktree with 1 uncommitted change: "},
		"a detached worktree": {do: func(t *testing.T, p string) {
			git(t, p, "worktree", "add", "-q", "--detach", "ignored/sub")
			commit(t, p+"/ignored/sub", "work")
		}, want: "1 branch with commits missing from the repository"},
		"a worktree elsewhere": {do: func(t *testing.T, p string) {
			git(t, p, "worktree", "add", "-q", p+"-out")
		}, want: "the repository of the worktree "},
		"a file of git-lfs": {do: func(t *testing.T, p string) {
			write(t, p+"/.git/lfs/objects/ab/cd/abcd", "large")
		}, want: "1 file of git-lfs or git-annex missing from the repository"},
		"a .git that leads elsewhere": {do: func(t *testing.T, p string) {
			if err := errors.Join(os.Rename(filepath.Join(p, ".git"), p+"-git"), os.Symlink(p+"-git", filepath.Join(p, ".git"))); err != nil {
				t.Fatal(err)
			}
		}, want: "leads out of the clone"},
	} {
		t.Run(name, func(t *testing.T) {
			repo, path := newClone(t, "agents/api")
			test.do(t, path)
			err := RemoveClone(t.Context(), path, repo, Here(path))
			_, gone := os.Lstat(path)
			if test.want == "" {
				if err != nil || !errors.Is(gone, os.ErrNotExist) || len(beside(t, path)) != 0 {
					t.Errorf("%v; %v; beside it %v", err, gone, beside(t, path))
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || gone != nil {
				t.Errorf("%v (%v), want %q", err, gone, test.want)
			}
		})
	}
}

// TestRemoveCloneThatWasFetched: what the repository has of it is not lost.
func TestRemoveCloneThatWasFetched(t *testing.T) {
	repo, path := newClone(t, "agents/api")
	write(t, filepath.Join(path, "new.txt"), "x")
	commit(t, path, "work")
	if _, err := Fetch(t.Context(), repo, path, "agents/api", "refs/agentform/api/agents/api"); err != nil {
		t.Fatal(err)
	}
	if err := RemoveClone(t.Context(), path, repo, Here(path)); err != nil {
		t.Fatal(err)
	}
	// One of which git's output was lost stays, and one that nobody can look into.
	repo, path = newClone(t, "agents/web")
	err := RemoveClone(t.Context(), path, repo, func(context.Context, ...string) (string, error) { return "", nil })
	if err == nil || !strings.Contains(err.Error(), "was lost") || gone(path) {
		t.Errorf("%v", err)
	}
	cannot := errors.New("no container")
	repo, path = newClone(t, "agents/doc")
	if err := RemoveClone(t.Context(), path, repo, func(context.Context, ...string) (string, error) { return "", cannot }); !errors.Is(err, cannot) {
		t.Errorf("%v, want %v", err, cannot)
	}
}
