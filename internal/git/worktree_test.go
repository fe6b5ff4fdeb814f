package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

// trace is everything that an attempt to add a worktree could leave behind.
func trace(t *testing.T, repo string) string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Dir(repo), func(path string, d os.DirEntry, err error) error {
		// Objects are no trace; nor is the lock, which stays.
		if d.Name() == "objects" || d.Name() == lockFile || strings.Contains(path, "/.git/logs") {
			return nil
		}
		if strings.HasSuffix(path, ".git/worktrees") {
			return nil // empty: git made it
		}
		files = append(files, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return git(t, repo, "worktree", "list", "--porcelain") + git(t, repo, "for-each-ref") + strings.Join(files, "\n")
}

func TestAddWorktree(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Dir(repo)
	commit(t, repo, "second")
	git(t, repo, "tag", "tagged", "main~1") // a tag may be called as a branch is
	git(t, repo, "branch", "--no-track", "tagged")
	git(t, repo, "update-ref", "refs/remotes/origin/main", "main~1")
	git(t, repo, "config", "remote.origin.url", "/nowhere")
	git(t, repo, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, branch, base, at string
		made                   bool
	}{
		{"deep/down/there", "agent/api", "", "main", true},
		{"again", "agent/web", "main~1", "main~1", true},
		{"--force", "refs/heads/odd", "tagged", "main~1", true},
		{"with space\"'$HOME", "@", "origin/main", "main~1", true},
		{"日本", "ünï/日本;x", git(t, repo, "rev-parse", "main"), "main", true},
		{"empty", "dash/-b", "", "main", true},
		{"exists", "tagged", "ignored, the branch exists", "refs/heads/tagged", false},
	} {
		path := filepath.Join(dir, c.path)
		made, err := AddWorktree(t.Context(), repo, path, c.branch, c.base)
		if err != nil || made != c.made {
			t.Errorf("%s: AddWorktree = %v, %v, want %v", c.branch, made, err, c.made)
			continue
		}
		if co := Look(path); co.Branch != c.branch || co.Err != nil {
			t.Errorf("%s: it is on %q, %v", c.branch, co.Branch, co.Err)
		}
		if got, want := git(t, path, "rev-parse", "HEAD"), git(t, repo, "rev-parse", c.at); got != want {
			t.Errorf("%s: it begins at %s, want %s", c.branch, got, want)
		}
		if out, err := tryGit(repo, "config", "--local", "--get-regexp", `^branch\.`); err == nil {
			t.Errorf("%s: it tracks something: %s", c.branch, out)
		}
	}
	held, err := Worktrees(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	byBranch := map[string]string{}
	for _, h := range held {
		byBranch[h.Branch] = h.Path
	}
	if len(held) != 8 || byBranch["main"] != repo || byBranch["@"] != filepath.Join(dir, "with space\"'$HOME") {
		t.Errorf("Worktrees = %v", held)
	}
	// From another worktree, or the git directory, as well as from the main checkout.
	for i, from := range []string{filepath.Join(dir, "again"), filepath.Join(repo, ".git")} {
		if _, err := AddWorktree(t.Context(), from, filepath.Join(dir, fmt.Sprint("from", i)), fmt.Sprint("from", i), ""); err != nil {
			t.Error(err)
		}
	}
}

func TestAddWorktreeFails(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Dir(repo)
	git(t, repo, "branch", "agent")
	write(t, filepath.Join(dir, "full", "mine"), "precious")
	write(t, filepath.Join(dir, "file"), "precious")
	for _, name := range []string{"empty", "target"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("target", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	unborn := filepath.Join(dir, "unborn")
	git(t, dir, "init", "-q", unborn)
	before := trace(t, repo)
	for name, c := range map[string]struct{ repo, path, branch, base, says string }{
		"bad branch":    {repo, dir + "/w", "a..b", "", `invalid branch name "a..b"`},
		"dash":          {repo, dir + "/w", "--force", "", "starts with a dash"},
		"relative path": {repo, "w", "b", "", "not absolute"},
		"no repository": {dir, dir + "/w", "b", "", "not a git repository"},
		"full folder":   {repo, dir + "/full", "b", "", "not empty"},
		"file":          {repo, dir + "/file", "b", "", "not a directory"},
		"link":          {repo, dir + "/link", "b", "", "not a directory"},
		"below a file":  {repo, dir + "/file/w", "b", "", "not a directory"},
		"the main one":  {repo, repo, "b", "", "not empty"},
		"no base":       {repo, dir + "/w", "b", "nope", `base "nope" does not exist`},
		"blob as base":  {repo, dir + "/w", "b", "HEAD:a.txt", "is not a commit"},
		"option":        {repo, dir + "/w", "b", "--all", "starts with a dash"},
		"unborn":        {unborn, dir + "/w", "b", "", "no commit to start the branch from"},
		"held":          {repo, dir + "/w", "main", "", repo},
		"branch above":  {repo, dir + "/deep/w", "agent/x", "", "refs/heads/agent"},
		"looks a hash":  {repo, dir + "/deep/w", strings.Repeat("1", 40), "", "invalid reference"},
		"empty folder":  {repo, dir + "/empty", "agent/x", "", "refs/heads/agent"},
	} {
		made, err := AddWorktree(t.Context(), c.repo, c.path, c.branch, c.base)
		if err == nil || made || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "add worktree "+c.path) {
			t.Errorf("%s: AddWorktree = %v, %v, want an error that says %q", name, made, err, c.says)
		}
		if d := cmp.Diff(before, trace(t, repo)); d != "" {
			t.Errorf("%s: left behind:\n%s", name, d)
		}
	}
	// What fails late, in the hook, and what is ended in the middle of it.
	hook := filepath.Join(repo, ".git", "hooks", "post-checkout")
	writeScript(t, hook, "echo no such thing; touch built; exit 7")
	before = trace(t, repo)
	for _, path := range []string{"/deep/w", "/empty"} {
		if _, err := AddWorktree(t.Context(), repo, dir+path, "b", ""); err == nil || !strings.Contains(err.Error(), "no such thing") {
			t.Errorf("the hook refuses: %v", err)
		}
		if d := cmp.Diff(before, trace(t, repo)); d != "" {
			t.Errorf("the hook refuses: left behind:\n%s", d)
		}
	}
	writeScript(t, hook, "echo $$ > '"+dir+"/pid'; exec sleep 3600")
	before = trace(t, repo)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	go func() {
		for gone(filepath.Join(dir, "pid")) {
			time.Sleep(5 * time.Millisecond)
		}
		cancel(why)
	}()
	if _, err := AddWorktree(ctx, repo, dir+"/w", "b", ""); !errors.Is(err, why) {
		t.Errorf("ended in the middle: %v", err)
	}
	os.Remove(filepath.Join(dir, "pid"))
	if d := cmp.Diff(before, trace(t, repo)); d != "" {
		t.Errorf("ended in the middle: left behind:\n%s", d)
	}
}

// A hook that leaves a process behind does not make the worktree fail.
func TestAddWorktreeDaemonHook(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	pid := filepath.Join(filepath.Dir(repo), "pid")
	writeScript(t, filepath.Join(repo, ".git", "hooks", "post-checkout"), "sleep 60 & echo $! > '"+pid+"'")
	_, err := AddWorktree(t.Context(), repo, repo+"2", "x", "")
	if err != nil {
		t.Error(err)
	}
	var n int
	if b, err := os.ReadFile(pid); err != nil {
		t.Fatal(err)
	} else if _, err := fmt.Sscan(string(b), &n); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(n, syscall.SIGKILL)
}

// Worktrees of one repository that are wanted at once all come to be.
func TestAddWorktreeAtOnce(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			name := fmt.Sprintf("w%d", i)
			if _, err := AddWorktree(t.Context(), repo, filepath.Join(filepath.Dir(repo), name), "agent/"+name, ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if held, err := Worktrees(t.Context(), repo); len(held) != 17 || err != nil {
		t.Errorf("%d checkouts, %v, want 17", len(held), err)
	}
}

// holdVariable makes the test binary a process that holds the repository with
// that common directory.
const holdVariable = "WORKTREE_TEST_HOLD"

func holdForEver(common string) int {
	release, err := hold(context.Background(), common)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer release()
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it, or ends
	return 0
}

func TestHeldByAnother(t *testing.T) {
	repo := newRepo(t)
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), holdVariable+"="+filepath.Join(repo, ".git"))
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = AddWorktree(ctx, repo, repo+"2", "x", "")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d on ", other.Process.Pid)) {
		t.Errorf("AddWorktree = %v, want it to name the holder", err)
	}
	if !gone(repo + "2") {
		t.Error("it was made all the same")
	}
	// A dead holder is no holder.
	other.Process.Kill()
	other.Wait()
	if _, err := AddWorktree(t.Context(), repo, repo+"2", "x", ""); err != nil {
		t.Error(err)
	}
}

// A worktree whose directory has vanished does not stand in the way of a new one,
// unless it is the last to hold some commits, or someone has locked it.
func TestAddWorktreeAfterVanished(t *testing.T) {
	repo := newRepo(t)
	path := repo + " tree"
	vanish := func() {
		t.Helper()
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	add := func() error {
		_, err := AddWorktree(t.Context(), repo, path, "x", "")
		return err
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	vanish()
	if held, err := Worktrees(t.Context(), repo); err != nil || len(held) != 2 || !held[1].Prunable || held[1].Branch != "x" {
		t.Errorf("Worktrees = %v, %v, want the second prunable", held, err)
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	vanish()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	git(t, repo, "worktree", "lock", "--reason", "initializing", path) // as a killed git leaves it
	vanish()
	if err := add(); err != nil {
		t.Fatal(err)
	}
	git(t, repo, "worktree", "lock", "--reason", "on a stick", path)
	vanish()
	if err := add(); err == nil || !strings.Contains(err.Error(), "on a stick") {
		t.Errorf("of a locked one: %v", err)
	}
	git(t, repo, "worktree", "unlock", path)
	if err := add(); err != nil {
		t.Fatal(err)
	}
	git(t, path, "checkout", "-q", "--detach")
	commit(t, path, "precious")
	precious := git(t, path, "rev-parse", "HEAD")
	vanish()
	var risk *RiskError
	if err := add(); !errors.As(err, &risk) || risk.Risk.Unreachable != 1 {
		t.Errorf("of one that holds a commit: %v", err)
	}
	if err := RemoveWorktree(t.Context(), repo, path); !errors.As(err, &risk) {
		t.Errorf("RemoveWorktree of it: %v", err)
	}
	git(t, repo, "branch", "saved", precious)
	if err := add(); err != nil {
		t.Fatal(err)
	}
}

func TestWorktrees(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Dir(repo)
	tree := filepath.Join(dir, "line\nbreak")
	git(t, repo, "worktree", "add", "-q", "-b", "x", tree)
	git(t, repo, "worktree", "add", "-q", "--detach", dir+"/zdetached")
	conflict(t, tree)
	if out, err := tryGit(tree, "rebase", "theirs"); err == nil {
		t.Fatalf("rebase had no conflict: %s", out)
	}
	got, err := Worktrees(t.Context(), repo)
	want := []session.Held{{Path: tree, Branch: "ours/deep"}, {Path: repo, Branch: "main"}, {Path: dir + "/zdetached"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if _, err := Worktrees(t.Context(), dir); !errors.Is(err, ErrNotRepository) {
		t.Errorf("of no repository: %v", err)
	}
	bare := filepath.Join(dir, "bare")
	git(t, dir, "clone", "-q", "--bare", repo, bare)
	if _, err := AddWorktree(t.Context(), bare, dir+"/of bare", "y", ""); err != nil {
		t.Fatal(err)
	}
	got, err = Worktrees(t.Context(), bare)
	if d := cmp.Diff([]session.Held{{Path: dir + "/of bare", Branch: "y"}}, got); d != "" || err != nil {
		t.Errorf("of a bare repository: %v (-want +got):\n%s", err, d)
	}
	// git before 2.36 refuses -z.
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	writeScript(t, dir+"/bin/git", `case "$*" in *" -z"*) exit 129;; esac; exec `+real+` "$@"`)
	t.Setenv("PATH", dir+"/bin:"+os.Getenv("PATH"))
	got, err = Worktrees(t.Context(), bare)
	if d := cmp.Diff([]session.Held{{Path: dir + "/of bare", Branch: "y"}}, got); d != "" || err != nil {
		t.Errorf("with an old git: %v (-want +got):\n%s", err, d)
	}
}
