//go:build agents

package agenttest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// TestVerifyByAgentform checks that each agent gets the failure of its work once, and that its
// next commit is verified. The commits are the test's own, made before a turn ends.
func TestVerifyByAgentform(t *testing.T) {
	t.Parallel()
	for _, name := range builtins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			done := func(n string) string { return filepath.Join(lab.Home, "done-"+n) }
			p := lab.Project(`  prompt = "do it [[await ` + done("1") + `]] [[text Done here.]]"
  verify {
    command = ["sh", "-c", "echo looking; test -e fixed"]
  }`)
			commit := func(file, n string) {
				t.Helper()
				workspace := strings.TrimSpace(p.Do("path", "api"))
				if err := os.WriteFile(filepath.Join(workspace, file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				for _, args := range [][]string{{"add", file}, {"-c", "user.name=tester", "-c", "user.email=tester@example.invalid", "commit", "-q", "-m", file}} {
					if out, err := exec.Command("git", append([]string{"-C", workspace}, args...)...).CombinedOutput(); err != nil {
						t.Fatalf("git %v: %v\n%s", args, err, out)
					}
				}
				if err := os.WriteFile(done(n), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p.Do("apply", "--auto-approve", "--wait")
			p.Do("serve", "--detach")
			defer p.Run("serve", "--stop")
			p.Until("it works", activity("working"))
			commit("work", "1")
			p.Until("it needs somebody", func(agenttest.Status) bool {
				return strings.Contains(p.Do("status", "--json"), `"reason": "verification_failed"`)
			})
			given := strings.Join(lab.Model.Turns()[len(lab.Model.Turns())-1].Prompts, "\n")
			if strings.Count(given, "does not pass verification: exit status 1.") != 1 {
				t.Errorf("the model got %q", given)
			}

			p.Do("send", "api", "again [[await "+done("2")+"]] [[text Fixed.]]")
			p.Until("it works again", activity("working"))
			commit("fixed", "2")
			p.Until("it is verified", func(agenttest.Status) bool { return strings.Contains(p.Do("status"), "verified") })
			p.Do("serve", "--stop")
			p.Do("land", "api", "--keep")
			if last := lab.Model.Turns(); strings.Count(strings.Join(last[len(last)-1].Prompts, "\n"), "does not pass verification") != 1 {
				t.Errorf("the model got %q", last[len(last)-1].Prompts)
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}
