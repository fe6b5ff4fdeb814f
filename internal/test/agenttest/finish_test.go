//go:build agents

package agenttest_test

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// TestFinishByAgentform checks that each agent is ended when its turn has ended, and not when
// someone interrupted it.
func TestFinishByAgentform(t *testing.T) {
	t.Parallel()
	for _, name := range builtins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			p := lab.Project(`  prompt = "do it [[delay 3s]] [[text Done here.]]"` + "\n" + `  finish = "turn"`)
			p.Do("apply", "--auto-approve", "--wait")
			lab.UntilNone()
			if out := p.Do("status", "api"); !strings.Contains(out, "done") {
				t.Errorf("status of a finished session:\n%s", out)
			}
			if out, code := p.Run("plan", "--detailed-exitcode"); code != 0 {
				t.Errorf("a plan after it has finished: exit %d\n%s", code, out)
			}
			if turns := lab.Model.Turns(); len(turns) != 1 {
				t.Errorf("%d requests, want 1", len(turns))
			}

			p.Do("start", "api", "--wait")
			interruptTurn(p, "more [[delay 5m]]", 2)
			if out, code := p.Run("plan", "--detailed-exitcode"); code != 0 {
				t.Errorf("a plan after its turn was interrupted: exit %d\n%s", code, out)
			}
			p.Do("send", "api", "again [[text Again.]]")
			p.Do("apply", "--auto-approve", "--wait")
			lab.UntilNone()
			p.Do("destroy", "--auto-approve")
		})
	}
}
