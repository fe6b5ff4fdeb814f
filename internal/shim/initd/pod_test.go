package initd

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// running returns an init whose last run has this process as its agent.
func running(t *testing.T, branch string) (k *container, head string) {
	t.Helper()
	self, ok := proc.ReadStat(os.Getpid())
	if !ok {
		t.Fatal("this process has no entry in /proc")
	}
	dir, workspace := t.TempDir(), filepath.Join(t.TempDir(), "work")
	if err := os.MkdirAll(filepath.Join(workspace, ".git", "rebase-merge"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := rundir.Claim(dir, self.Process); err != nil {
		t.Fatal(err)
	}
	if err := rundir.WriteRun(dir, self.Process, self.Process, time.Now()); err != nil {
		t.Fatal(err)
	}
	return &container{last: begun{dir, workspace, branch}}, filepath.Join(workspace, ".git", "HEAD")
}

// write replaces a file by renaming, as git does.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := rundir.WriteFile(path, []byte(text), false); err != nil {
		t.Fatal(err)
	}
}

// TestReady checks when the kubelet's probes report a pod as ready.
func TestReady(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567\n"
	k, head := running(t, "agents/web")
	is := func(what string, want bool) {
		t.Helper()
		if got := k.ready(); got != want {
			t.Errorf("%s: ready is %t, want %t", what, got, want)
		}
	}
	is("without HEAD", false)
	write(t, head, "ref: refs/heads/agents/web\n")
	is("on its branch", true)
	write(t, head, "ref: refs/heads/agents/web2\n")
	is("on another branch", false)
	write(t, head, commit)
	is("detached", false)
	rebased := filepath.Join(filepath.Dir(head), "rebase-merge", "head-name")
	write(t, rebased, "refs/heads/agents/web\n")
	is("rebasing its branch", true)
	write(t, rebased, "refs/heads/main\n")
	is("rebasing another branch", false)
	if err := os.Remove(rebased); err != nil {
		t.Fatal(err)
	}
	bisect := filepath.Join(filepath.Dir(head), "BISECT_START")
	write(t, bisect, "agents/web\n")
	is("bisecting its branch", true)
	write(t, bisect, commit)
	is("bisecting from a commit", false)

	k.last.branch = ""
	is("of a session without a branch", true)
	if err := os.RemoveAll(k.last.workspace); err != nil {
		t.Fatal(err)
	}
	is("without its workspace", false)
	k.last = begun{}
	is("before the first run", false)
}
