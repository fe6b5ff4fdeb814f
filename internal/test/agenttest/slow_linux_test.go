//go:build agents

package agenttest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// TestSendToASlowAgent checks that a text which the agent reads seconds after it was typed
// is typed once. An agent that takes too long is an error.
func TestSendToASlowAgent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex", "gemini", "qwen"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			p := lab.Project("")
			p.Do("apply", "--auto-approve", "--wait")
			told := 0
			send := func(text string, frozen time.Duration) {
				t.Helper()
				thawed := p.Freeze(frozen)
				out, code := p.Run("send", "api", text)
				<-thawed
				if code != 0 && strings.Contains(out, "it may be in the input") {
					t.Logf("frozen for %s, the agent took too long to read it: %s", frozen, out)
					return
				}
				if told++; code != 0 {
					t.Fatalf("frozen for %s: exit %d\n%s", frozen, code, out)
				}
				p.Do("wait", "api", "--timeout", "4m")
				turns := lab.Model.Turns()
				if len(turns) == 0 {
					t.Fatalf("the model was told nothing after: %s", out)
				}
				if last := turns[len(turns)-1].Prompt(); strings.TrimSpace(last) != text {
					t.Errorf("frozen for %s, the model was told %q, want %q", frozen, last, text)
				}
			}
			send("hello [[text Hi.]]", 0)
			for i, frozen := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
				send(fmt.Sprintf("message %d [[text Well.]]", i), frozen)
			}
			send("message of\n\n"+strings.Repeat("a line that is one of many\n", 40)+"lines [[text Long.]]", 4*time.Second)
			if n := len(lab.Model.Turns()); n < told || n > 5 {
				t.Errorf("%d turns after %d of 5 texts that were received", n, told)
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}

// TestWaitForAQueuedMessageOfASlowAgent checks that the rest between two turns is not taken
// for the end, however long it lasts: by wait, by stop --after-turn, by next.
func TestWaitForAQueuedMessageOfASlowAgent(t *testing.T) {
	t.Parallel()
	const between = 8 * time.Second
	for _, name := range []string{"claude", "gemini"} { // Codex takes a message up within the turn
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			p := lab.Project("")
			p.Do("apply", "--auto-approve", "--wait")
			for _, ends := range [][]string{
				{"wait", "api", "--timeout", "4m"},
				{"next", "--timeout", "4m"},
				{"stop", "api", "--after-turn", "--timeout", "4m"},
			} {
				p.Do("send", "api", "first [[delay 4s]] [[text One.]]")
				p.Do("send", "api", "second [[delay 1s]] [[text Two.]]")
				froze := make(chan bool)
				go func() {
					defer close(froze)
					thawed, between := p.FreezeAtTurnEnd(between)
					<-thawed
					froze <- between
				}()
				out := p.Do(ends...)
				turns := lab.Model.Turns()
				if last := turns[len(turns)-1]; !strings.Contains(last.Prompt(), "second") {
					t.Errorf("%s ended before the second message was answered: %q\n%s", ends[0], last.Prompts, out)
				}
				if !<-froze {
					t.Logf("%s: the second turn had begun when the agent was frozen", ends[0])
				}
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}
