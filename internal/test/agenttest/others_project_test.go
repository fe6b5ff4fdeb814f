//go:build agents

package agenttest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// Codex, Copilot, Gemini and Qwen Code, from the manifest and back: the question is shown and answered,
// the conversation survives a restart without its prompt being sent twice, after
// the end nothing lives, and a conversation that is gone is said to be.
func TestOthersByAgentform(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		agent, tool, yes, files string
	}{
		{"codex", "exec_command", "y", ".codex/sessions/*/*/*/*.jsonl"},
		{"copilot", "bash", "1", ".copilot/session-state/*/events.jsonl"},
		{"gemini", "run_shell_command", "1", ".gemini/tmp/*/chats/*.jsonl"},
		{"qwen", "run_shell_command", "1", ".qwen/projects/*/chats/*.jsonl"},
	} {
		t.Run(c.agent, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, c.agent)
			const prompt = "fix it [[text I look.]] [[tool ask: touch made]] [[text Done here.]]"
			p := lab.Project(`  prompt = "` + prompt + `"`)
			p.Do("apply", "--auto-approve", "--wait")
			p.Until("it asks", func(s agenttest.Status) bool {
				return s.Activity == "blocked" && strings.Contains(s.Detail, "touch made")
			})
			// A hook tells the question before the dialog is drawn, which takes the key.
			p.Until("its dialog is drawn", func(agenttest.Status) bool { return strings.Contains(p.Do("capture", "api"), "1. ") })
			s := p.Press(c.yes, "the turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })
			log := p.Do("logs", "api")
			for _, line := range []string{"user    fix it", "agent   I look.", "tool    " + c.tool + " touch made", "agent   Done here."} {
				if !strings.Contains(log, line) {
					t.Errorf("logs lacks %q:\n%s", line, log)
				}
			}
			if out, code := p.Run("plan", "--detailed-exitcode"); code != 0 {
				t.Errorf("a plan after it has worked: exit %d\n%s", code, out)
			}

			p.Do("stop", "api")
			lab.UntilNone()
			if c.agent == "gemini" {
				asOfEarlier(t, filepath.Join(lab.Home, c.files))
			}
			p.Do("start", "api")
			again := p.Until("it is idle again", func(now agenttest.Status) bool { return now.Activity == "idle" && now.PID != s.PID })
			if again.Conversation != s.Conversation || s.Conversation == "" {
				t.Errorf("conversation %q, before the restart %q", again.Conversation, s.Conversation)
			}
			if c.agent == "gemini" { // it makes its second file while it is idle already
				p.Until("a conversation that is resumed in another minute has a second file", func(now agenttest.Status) bool {
					if now.Turns != 1 {
						t.Fatalf("%d turns after the conversation was resumed", now.Turns)
					}
					files, err := filepath.Glob(filepath.Join(lab.Home, c.files))
					return err == nil && len(files) == 2
				})
				if now := p.Status(); now.Turns != 1 {
					t.Fatalf("%d turns with the second file", now.Turns)
				}
			}
			p.Do("send", "api", "more [[text More.]]")
			p.Until("the second turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 2 })
			turns := lab.Model.Turns()
			if want := []string{prompt, "more [[text More.]]"}; !slices.Equal(turns[len(turns)-1].Prompts, want) || len(turns) != 3 {
				t.Errorf("%d requests, the last with %q, want 3 with %q", len(turns), turns[len(turns)-1].Prompts, want)
			}

			p.Do("stop", "api")
			lab.UntilNone()

			// Its files: Gemini has a second one.
			gone, err := filepath.Glob(filepath.Join(lab.Home, c.files))
			if err != nil || len(gone) == 0 {
				t.Fatalf("session files: %q, %v", gone, err)
			}
			for _, file := range gone {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			out, code := p.Run("start", "api")
			if code == 0 || !strings.Contains(out, s.Conversation) {
				t.Errorf("start without its conversation: exit %d\n%s", code, out)
			}
			p.Do("restart", "api", "--fresh")
			p.Until("it asks again", activity("blocked"))
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}

// minute is the minute in which a chat of Gemini was begun, in its file's name.
var minute = regexp.MustCompile(`^session-\d+-\d\d-\d\dT\d\d-\d\d`)

// asOfEarlier renames a session file as if its conversation had begun in a minute long
// ago, so that it is resumed in another one.
func asOfEarlier(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) != 1 {
		t.Fatalf("session files: %q, %v", files, err)
	}
	earlier := filepath.Join(filepath.Dir(files[0]), minute.ReplaceAllString(filepath.Base(files[0]), "session-2000-01-01T00-00"))
	if err := os.Rename(files[0], earlier); err != nil {
		t.Fatal(err)
	}
}

// Without a prompt Codex has no file. It is neither taken for dead nor touched,
// and is seen in its file from its first prompt on.
func TestCodexUnobservedByAgentform(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "codex")
	p := lab.Project("")
	p.Do("apply", "--auto-approve", "--wait")
	s := p.Until("it has not been observed", func(s agenttest.Status) bool { return s.Activity == "unobserved" })
	for _, args := range [][]string{{"plan", "--detailed-exitcode"}, {"apply", "--auto-approve"}, {"drift"}} {
		if out, code := p.Run(args...); code != 0 {
			t.Errorf("agentform %v: exit %d\n%s", args, code, out)
		}
	}
	if now := p.Status(); now.PID != s.PID || now.State != "running" {
		t.Errorf("it was touched: %+v, before %+v", now, s)
	}
	p.Do("send", "api", "go [[text Here.]]")
	p.Until("its first turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })
	p.Do("destroy", "--auto-approve")
	lab.UntilNone()
}

// An agent that was never told anything has nothing to go on with, whatever it
// has written at its start: it starts again all the same.
func TestRestartBeforeAnyPromptByAgentform(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"claude", "codex", "copilot", "gemini", "qwen"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, agent)
			p := lab.Project("")
			p.Do("apply", "--auto-approve", "--wait")
			before := p.Status()
			p.Do("restart", "api", "--wait")
			p.Until("it is ready again", func(now agenttest.Status) bool {
				return now.State == "running" && now.PID != before.PID && (now.Activity == "idle" || now.Activity == "unobserved")
			})
			p.Do("send", "api", "go [[text Here.]]")
			first := p.Until("its first turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })
			p.Do("restart", "api", "--wait")
			if again := p.Status(); again.Conversation != first.Conversation {
				t.Errorf("conversation %q, before the restart %q", again.Conversation, first.Conversation)
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}
