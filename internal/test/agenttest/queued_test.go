//go:build agents

package agenttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// TestWaitForAQueuedMessage checks that wait returns with the turn of the message
// that was sent last, also if the agent was at work with another one then.
func TestWaitForAQueuedMessage(t *testing.T) {
	t.Parallel()
	for _, name := range builtins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			p := lab.Project("")
			p.Do("apply", "--auto-approve", "--wait")
			sent := filepath.Join(lab.Home, "sent")
			for range 3 {
				p.Do("send", "api", "first [[await "+sent+"]] [[text One.]]")
				// The screen may show the message a little before anything tells that the agent works.
				p.Until("it works", activity("working"))
				if out := sendNext(t, p, "second [[delay 3s]] [[text Two.]]"); !strings.Contains(out, "is working") {
					t.Errorf("the second message was not queued: %s", out)
				}
				if err := os.WriteFile(sent, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				p.Do("wait", "api", "--timeout", "4m")
				if s := p.Status(); s.Activity != "idle" {
					t.Errorf("wait returned while the agent was %s", s.Activity)
				}
				turns := lab.Model.Turns()
				last := turns[len(turns)-1]
				if !slices.ContainsFunc(last.Prompts, func(prompt string) bool { return strings.Contains(prompt, "second") }) {
					t.Errorf("wait returned before the second message was answered: %q", last.Prompts)
				}
				if logs := p.Do("logs", "api"); !strings.Contains(logs, "Two.") {
					t.Errorf("the answer is not there:\n%s", logs)
				}
				if err := os.Remove(sent); err != nil {
					t.Fatal(err)
				}
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}

// TestSendTwice checks that the real agents get each of two messages once, of which the second
// is sent before they show that they work on the first.
func TestSendTwice(t *testing.T) {
	t.Parallel()
	for _, name := range builtins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			p := lab.Project("")
			p.Do("apply", "--auto-approve", "--wait")
			for n := range 4 {
				sendTwice(t, p, n)
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}

// sendTwice sends a message, and another one before the agent shows that it works on the first.
// n makes them differ from those of other calls.
func sendTwice(t *testing.T, p *agenttest.Project, n int) {
	t.Helper()
	first, second := fmt.Sprintf("first %d [[delay 6s]] [[text One.]]", n), fmt.Sprintf("second %d [[text Two.]]", n)
	p.Do("send", "api", first)
	sendNext(t, p, second)
	p.Do("wait", "api", "--timeout", "4m")
	turns := p.Lab.Model.Turns()
	last := strings.Join(turns[len(turns)-1].Prompts, "\n")
	if strings.Count(last, first) != 1 || strings.Count(last, second) != 1 {
		t.Fatalf("the model got %q\n%s\n%s", last, p.Do("events"), p.Do("capture", "api"))
	}
}

// sendNext sends a message soon after another one, and returns what send prints. opencode loses
// what is typed while it opens the view of a new conversation; send says so.
func sendNext(t *testing.T, p *agenttest.Project, message string) string {
	t.Helper()
	out, code := p.Run("send", "api", message)
	if p.Lab.Agent == "opencode" && strings.Contains(out, "nothing shows that the agent received it") {
		return p.Do("send", "api", message)
	}
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	return out
}
