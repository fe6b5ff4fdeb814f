//go:build agents

package agenttest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// TestPromptOfAKilledApplyByAgentform kills an apply at several moments of a start. The next
// one gives the agent its prompt once, and says so only if the model was told. The dot that
// is typed to see whether an agent reads is no part of the prompt.
func TestPromptOfAKilledApplyByAgentform(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex", "copilot", "gemini", "opencode", "qwen"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			prompt := func(i int) string { return fmt.Sprintf("begin %d [[text Begun.]]", i) }
			p := lab.Project("  prompt = " + fmt.Sprintf("%q", prompt(0)))
			for i, after := range []time.Duration{300 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
				p.Killed(after, "apply", "--auto-approve", "--wait")
				p.Do("apply", "--auto-approve", "--wait")
				p.Do("wait", "api", "--timeout", "4m")
				told := 0
				for _, turn := range lab.Model.Turns() {
					if slices.ContainsFunc(turn.Prompts, func(said string) bool {
						return strings.Contains(said, prompt(i)) && !strings.Contains(said, prompt(i)+".")
					}) {
						told++
					}
				}
				if told != 1 {
					t.Errorf("killed after %v: the model was told the prompt %d times:\n%s\n%s", after, told, p.Do("events", "api"), p.Do("capture", "api"))
				}
				p.Do("destroy", "--auto-approve")
				p.Edit(prompt(i), prompt(i+1))
			}
			lab.UntilNone()
		})
	}
}
