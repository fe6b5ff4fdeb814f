//go:build agents

package agenttest_test

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// A changed prompt is typed into the running conversation: the same process and
// conversation take another turn. It is queued while the agent works.
func TestPromptIsSentByAgentform(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex", "gemini"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			p := lab.Project(`  prompt           = "go [[text First.]]"
  on_prompt_change = "send"`)
			p.Do("apply", "--auto-approve", "--wait")
			was := p.Until("its first turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })

			p.Edit("go [[text First.]]", "go on [[text Second.]]")
			out := p.Do("plan")
			for _, want := range []string{"it is sent into the running conversation", `~ prompt: "go [[text First.]]" -> "go on [[text Second.]]"`} {
				if !strings.Contains(out, want) {
					t.Errorf("plan lacks %q:\n%s", want, out)
				}
			}
			p.Do("apply", "--auto-approve")
			is := p.Until("its second turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 2 })
			if is.PID != was.PID || is.Conversation != was.Conversation {
				t.Errorf("it is process %d in conversation %s, was %d in %s", is.PID, is.Conversation, was.PID, was.Conversation)
			}
			if out := p.Do("logs", "api"); !strings.Contains(out, "First.") || !strings.Contains(out, "Second.") {
				t.Errorf("its log:\n%s", out)
			}
			if out := p.Do("plan"); !strings.Contains(out, "No changes") {
				t.Errorf("after the apply:\n%s", out)
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}

// At a terminal, apply ends with the question that a new folder makes the agent ask, and
// with the command that answers it.
func TestApplySaysThatTrustIsAsked(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*agenttest.Lab){
		"claude": func(l *agenttest.Lab) {
			key := l.Env["ANTHROPIC_API_KEY"]
			l.Write(".claude.json", `{"hasCompletedOnboarding":true,"customApiKeyResponses":{"approved":["`+key[len(key)-20:]+`"],"rejected":[]}}`)
		},
		"codex":  distrusted,
		"gemini": unset(`"folderTrust": {"enabled": false}`, `"folderTrust": {"enabled": true}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			before(lab)
			p := lab.Project("")
			p.Edit("trust   = true", "trust   = false")
			if out := p.Do("plan"); !strings.Contains(out, "false, asks whether to trust a folder that is new to it") {
				t.Errorf("the plan does not say that it asks:\n%s", out)
			}
			out, code := p.AtTerminal("apply", "--auto-approve")
			text := strings.Join(strings.Fields(out), " ") // lines break at words
			asks := strings.Contains(text, "1 session waits for you: api asks whether to trust the folder → agentform ")
			slow := strings.Contains(text, "1 session is still starting: api → agentform wait api --for=ready")
			if code != 0 || !asks && !slow {
				t.Errorf("exit %d:\n%s", code, out)
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}
