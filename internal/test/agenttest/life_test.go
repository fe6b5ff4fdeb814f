//go:build agents

package agenttest_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// TestWholeLife leads each agent through its life on a machine that is busy: a long answer, a
// resumed conversation, a question, two messages at once, an interruption, a kill.
func TestWholeLife(t *testing.T) {
	busy(t, 6)
	for _, name := range builtins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			const prompt = "begin [[lines 120]]"
			p := lab.Project(`  prompt = "` + prompt + `"`)
			p.Do("apply", "--auto-approve", "--wait")
			was := p.Until("its long answer ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })

			// Nothing that it draws at its start is on the screen of a long conversation.
			resumed := func(how string) {
				t.Helper()
				now := p.Until("it rests after "+how, func(s agenttest.Status) bool {
					return s.Activity == "idle" && s.PID > 0 && s.PID != was.PID
				})
				if now.Conversation != was.Conversation || now.Conversation == "" {
					t.Fatalf("after %s conversation %q, before it %q", how, now.Conversation, was.Conversation)
				}
				was = now
			}
			p.Do("stop", "api")
			lab.UntilNone()
			p.Do("start", "api", "--wait")
			resumed("a start")

			tool := "ask"
			if name == "opencode" {
				tool = "bash"
			}
			p.Do("send", "api", "more [[tool "+tool+": touch made]] [[text Made.]]")
			p.Until("it asks", asks)
			if made(p, "made") {
				t.Fatal("the command ran before it was allowed")
			}
			p.Do("answer", "api", "yes")
			p.Until("it is done", func(s agenttest.Status) bool { return s.Activity == "idle" && made(p, "made") })
			p.Do("wait", "api", "--timeout", "4m")

			sendTwice(t, p, 0)
			interruptFirst(t, p, len(lab.Model.Turns())+1)

			p.Do("send", "api", "again [[lines 120]]")
			p.Do("wait", "api", "--timeout", "4m")
			requests := len(lab.Model.Turns())
			was = p.Status()
			if err := syscall.Kill(was.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			p.Until("its end is seen", func(s agenttest.Status) bool { return s.State == "stale" || s.State == "error" })
			p.Do("apply", "--auto-approve", "--wait")
			resumed("a kill")
			if now := len(lab.Model.Turns()); now != requests {
				t.Errorf("the resumed agent made %d requests", now-requests)
			}
			p.Do("send", "api", "last [[text Last.]]")
			p.Do("wait", "api", "--timeout", "4m")
			turns := lab.Model.Turns()
			given := turns[len(turns)-1].Prompts
			if last := given[len(given)-1]; !strings.Contains(last, "last [[text Last.]]") || strings.Count(strings.Join(given, "\n"), prompt) != 1 {
				t.Errorf("the model got %q\n%s", given, p.Do("capture", "api"))
			}
			if out, code := p.Run("plan", "--detailed-exitcode"); code != 0 {
				t.Errorf("a plan after all: exit %d\n%s", code, out)
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}

// busy runs processes of the lowest priority that use all the processor that is left, until the
// test ends.
func busy(t *testing.T, n int) {
	t.Helper()
	for range n {
		c := exec.Command("nice", "-n", "19", "sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait()
		})
	}
}
