//go:build agents

package agenttest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// What is sent reaches the real agents as it was meant: over a draft, in several
// lines, long, beginning like a command, in any script, and while they work.
func TestSendByAgentform(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex", "copilot", "gemini", "qwen"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			p := lab.Project("")
			p.Do("apply", "--auto-approve", "--wait")
			reaches := func(text string) {
				t.Helper()
				p.Do("send", "api", text)
				p.Do("wait", "api", "--timeout", "4m")
				turns := lab.Model.Turns()
				if len(turns) == 0 {
					t.Fatalf("%.60q did not reach the model", text)
				}
				prompts := turns[len(turns)-1].Prompts
				if len(prompts) == 0 || strings.Trim(prompts[len(prompts)-1], " \n\u200b") != text {
					t.Fatalf("the model was told %.200q, want %.60q", prompts, text)
				}
			}
			reaches("hello [[text Hi.]]")
			p.Do("send", "api", "a draft of somebody", "--no-enter")
			reaches("what was meant [[text Well.]]")
			reaches("one\n\nthree [[text Lines.]]")
			if name == "gemini" { // for it whatever begins so is a command: that it was no prompt is seen
				if out, code := p.Run("send", "api", "/help is meant as text"); code != 1 || !strings.Contains(out, "nothing shows that the agent received it") {
					t.Errorf("a command that was meant as a text: exit %d\n%s", code, out)
				}
			} else {
				reaches("/help is meant as text [[text Slash.]]")
			}
			reaches("! so is this [[text Bang.]]")
			reaches("# and 日本語 ✓ [[text Script.]]")
			reaches(strings.Repeat("a line that is one of many\n", 400) + "[[text Long.]]")

			queued := filepath.Join(lab.Home, "queued")
			p.Do("send", "api", "first [[await "+queued+"]] [[text One.]]")
			// The screen may show the message a little before anything tells that the agent works.
			p.Until("it works", activity("working"))
			out := p.Do("send", "api", "second [[text Two.]]")
			if !strings.Contains(out, "is working") {
				t.Errorf("it was not told that it queues: %s", out)
			}
			if err := os.WriteFile(queued, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			p.Until("both are answered", func(s agenttest.Status) bool {
				turns := lab.Model.Turns()
				last := turns[len(turns)-1].Prompts
				return s.Activity == "idle" && slices.ContainsFunc(last, func(prompt string) bool { return strings.Contains(prompt, "second [[text Two.]]") })
			})

			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}
