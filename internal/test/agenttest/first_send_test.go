//go:build agents

package agenttest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// TestSendBeforeThePrompt checks that a text which is sent while the agents start is not
// lost: they show their composer before they submit the prompt of their command line.
func TestSendBeforeThePrompt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex"} {
		t.Run(name, func(t *testing.T) {
			lab := agenttest.New(t, name)
			p := lab.Project(`  count  = 6
  prompt = "begin [[text Begun.]]"`)
			p.Edit(`"agents/api"`, `"agents/api-${count.index}"`)
			p.Do("apply", "--auto-approve")
			out, code := p.Run("send", "api", "go on [[text Gone on.]]")
			if code != 0 {
				t.Fatalf("exit %d: %s\n%s\n%s", code, out, p.Do("events"), p.Do("logs", "api"))
			}
			p.Do("wait", "api", "--timeout", "4m")
			told := 0
			for _, turn := range lab.Model.Turns() {
				if slices.ContainsFunc(turn.Prompts, func(prompt string) bool { return strings.Contains(prompt, "go on") }) {
					told++
				}
			}
			if told != 6 {
				t.Errorf("%d of 6 agents got the text:\n%s\n%s", told, out, p.Do("capture", "--all"))
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}
