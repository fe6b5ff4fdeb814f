//go:build agents

package agenttest_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// An agent that was killed is started again by the hub, in its conversation and with
// the login that it had: a key of the environment, which is not written down.
func TestHubByAgentform(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex", "copilot", "gemini", "qwen"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			const prompt = "hello [[text Hi.]]"
			p := lab.Project("  prompt = \"" + prompt + "\"\n  restart {\n    backoff {\n      initial = \"1s\"\n    }\n  }")
			p.Do("apply", "--auto-approve", "--wait")
			s := p.Until("the turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })
			p.Do("serve", "--detach")
			defer p.Run("serve", "--stop")
			if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			again := p.Until("it is idle again", func(now agenttest.Status) bool {
				return now.Activity == "idle" && now.PID != s.PID && now.PID != 0
			})
			if again.Conversation != s.Conversation || s.Conversation == "" {
				t.Errorf("conversation %q, before %q", again.Conversation, s.Conversation)
			}
			const more = "more [[delay 2s]] [[text More.]]"
			p.Do("send", "api", more)
			p.Do("wait", "api", "--timeout", "4m")
			turns := lab.Model.Turns()
			last := turns[len(turns)-1]
			if took := time.Since(last.At); took < 2*time.Second {
				t.Errorf("wait returned %s after the message reached the model, which answers after 2 s", took)
			}
			if !slices.Contains(last.Prompts, prompt) || !slices.Contains(last.Prompts, more) {
				t.Errorf("the model was told %q, want both messages", last.Prompts)
			}
			p.Do("serve", "--stop")
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}
