package land

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/session"
)

// A forge that never answers ends the push, and what would open the pull request.
func TestForgeThatNeverAnswers(t *testing.T) {
	repo, tools := t.TempDir(), t.TempDir()
	never := "#!/bin/sh\nwhile read -r line; do :; done\n"
	executable.Write(t, filepath.Join(tools, "git-remote-never"), []byte(never), 0o755)
	executable.Write(t, filepath.Join(tools, "gh"), []byte("#!/bin/sh\nkill -STOP $$\n"), 0o755)
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir = repo
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("-c", "user.name=x", "-c", "user.email=x@example.invalid", "commit", "-q", "--allow-empty", "-m", "Add work")
	git("branch", "work")
	git("remote", "add", "origin", "never::somewhere")
	path := tools + string(filepath.ListSeparator) + os.Getenv("PATH")
	l := Lander{
		Record:       session.Record{Tree: session.WorkspaceState{Repo: repo}},
		Ref:          "refs/agentform/api/work",
		Environ:      environ.Vars{"PATH=" + path, "HOME=" + t.TempDir()},
		ForgeTimeout: 200 * time.Millisecond,
	}
	t.Setenv("PATH", path) // git is looked up there
	f := Facts{Branch: "work", Base: "main", Commit: git("rev-parse", "work"), Remote: Remote{Name: "origin"}}
	u, err := l.user(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := Landed{Steps: make([]Step, 2)}
	err = l.open(t.Context(), u, f, Request{Method: PR}, &done, func(Step) {})
	if err == nil || !strings.Contains(err.Error(), "no answer within 200ms") {
		t.Errorf("the push: %v", err)
	}
	if _, err := l.tool(t.Context(), filepath.Join(tools, "gh"), []string{"gh"}); err == nil || err.Error() != "no answer within 200ms" {
		t.Errorf("the tool: %v", err)
	}
}
