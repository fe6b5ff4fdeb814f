//go:build real

package hub_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// A branch that is switched under a session is reported when that happens, and not
// when the next sweep is due.
func TestBranchSwitchWakes(t *testing.T) {
	h := newHost(t)
	repo := filepath.Join(h.dir, "repo")
	git := func(dir string, args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=tester", "-c", "user.email=tester@example.invalid"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.Mkdir(repo, 0o700); err != nil {
		t.Fatal(err)
	}
	git(repo, "init", "-q", "-b", "main")
	git(repo, "commit", "-q", "--allow-empty", "-m", "first")

	specs := h.specs(1)
	specs[0].Branch = "agents/s0"
	specs[0].Workspace.Mode, specs[0].Workspace.Repo = session.Worktree, repo
	specs[0].Health.Interval = session.Duration(time.Hour)
	h.apply(specs)
	h.hub()
	h.counts("the first look is over", history.Discovered, 1)
	git(specs[0].Workspace.Path, "switch", "-q", "-c", "elsewhere")
	h.counts("the branch is told", history.BranchMismatch, 1)
}
