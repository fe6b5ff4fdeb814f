package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// slowly makes a repository whose files take their time to be checked out.
func slowly(t *testing.T) (repo string, files int) {
	repo, files = newRepo(t), 4
	for i := range files {
		write(t, filepath.Join(repo, fmt.Sprintf("%d.slow", i)), "content\n")
	}
	write(t, filepath.Join(repo, ".gitattributes"), "*.slow filter=slow\n")
	git(t, repo, "config", "filter.slow.smudge", "sleep 0.3; cat")
	git(t, repo, "config", "filter.slow.clean", "cat")
	git(t, repo, "add", "-A")
	git(t, repo, "commit", "-q", "-m", "slow")
	return repo, files
}

// begin starts to make a worktree, as an agentform that is killed right after.
func begin(t *testing.T, repo, path string) *exec.Cmd {
	c := exec.Command("git", "worktree", "add", "--no-track", "-b", "work", "--", path, "HEAD")
	c.Dir = repo
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !Look(path).Partial; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is never seen half-made")
		}
	}
	return c
}

func complete(t *testing.T, path string, files int) {
	t.Helper()
	if co := Look(path); co.Partial || co.Branch != "work" {
		t.Errorf("it is %+v", co)
	}
	found, err := filepath.Glob(filepath.Join(path, "*.slow"))
	if err != nil || len(found) != files {
		t.Errorf("it has %d files, want %d", len(found), files)
	}
	if out := git(t, path, "status", "--porcelain"); out != "" {
		t.Errorf("it is not clean:\n%s", out)
	}
}

func TestHalfMadeWorktreeIsMadeAgain(t *testing.T) {
	repo, files := slowly(t)
	path := filepath.Join(t.TempDir(), "w ü")
	git(t, repo, "config", "filter.slow.smudge", "sleep 600; cat") // it is killed before
	c := begin(t, repo, path)
	time.Sleep(100 * time.Millisecond)
	if err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	git(t, repo, "config", "filter.slow.smudge", "cat")
	if made, err := AddWorktree(t.Context(), repo, path, "work", ""); err != nil || made {
		t.Fatalf("branch made %v, %v", made, err)
	}
	complete(t, path, files)
}

func TestWorktreeThatAnotherGitMakesIsWaitedFor(t *testing.T) {
	t.Parallel()
	repo, files := slowly(t)
	path := filepath.Join(t.TempDir(), "w")
	c := begin(t, repo, path)
	if _, err := AddWorktree(t.Context(), repo, path, "work", ""); err != nil {
		t.Fatal(err)
	}
	complete(t, path, files)
	if err := c.Wait(); err != nil {
		t.Errorf("the other git was disturbed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(repo, ".git", "worktrees", "w", "locked")); err == nil {
		t.Error("it is still locked")
	}
}
