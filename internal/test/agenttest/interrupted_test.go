//go:build agents

package agenttest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// builtins are the agents with an adapter of their own.
var builtins = []string{"claude", "codex", "copilot", "gemini", "opencode", "qwen"}

// TestInterruptedBeforeItsFirstWord checks that an agent which is interrupted while it waits
// for the model's first word is seen to rest, and takes the next message.
func TestInterruptedBeforeItsFirstWord(t *testing.T) {
	t.Parallel()
	for _, name := range builtins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			p := lab.Project("")
			p.Do("apply", "--auto-approve", "--wait")
			for n := 1; n <= 4; n += 2 { // an agent may treat its first turn as another
				interruptFirst(t, p, n)
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}

// interruptFirst sends a message, interrupts the agent while it waits for the model's first word
// and sends another one. n is how many requests the model has with the first.
func interruptFirst(t *testing.T, p *agenttest.Project, n int) {
	t.Helper()
	model := p.Lab.Model
	interruptTurn(p, "first [[delay 5m]] [[text One.]]", n)
	p.Do("send", "api", "second [[text Two.]]")
	p.Do("wait", "api", "--timeout", "4m")
	turns := model.Turns()
	if last := turns[len(turns)-1]; len(turns) != n+1 || !strings.Contains(last.Prompt(), "second") {
		t.Errorf("%d turns, want %d; the last is %q\n%s", len(turns), n+1, last.Prompts, p.Do("capture", "api"))
	}
}

// interruptTurn sends a message and interrupts the agent while it waits for the model's first word.
// n is how many requests the model has with that.
func interruptTurn(p *agenttest.Project, message string, n int) {
	p.Do("send", "api", message)
	p.Until("it works", activity("working"))
	p.Until("the model is asked", func(agenttest.Status) bool { return len(p.Lab.Model.Turns()) >= n })
	var pressed time.Time
	p.Until("it rests", func(s agenttest.Status) bool {
		if s.Activity == "working" && time.Since(pressed) > 5*time.Second {
			pressed = time.Now()
			p.Do("send", "api", "--key", "Escape", "--key", "Escape") // one is enough for some
		}
		return s.Activity == "idle" || s.Activity == "done"
	})
	p.Do("wait", "api", "--timeout", "1m")
}
