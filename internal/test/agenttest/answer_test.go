//go:build agents

package agenttest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// asks is a look at a session whose question can be answered.
func asks(s agenttest.Status) bool { return s.Question != nil }

// made reports whether the agent has made a file in its workspace.
func made(p *agenttest.Project, name string) bool {
	found, err := filepath.Glob(filepath.Join(p.Lab.Dir, ".agentform", "workspaces", "*", "agents-api", name))
	return err == nil && len(found) == 1
}

// An approval is answered in the agent's own dialog: what is permitted is done, and what is
// not is not; what is no answer answers nothing, and an answer goes to no other question.
func TestAnswerByAgentform(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex", "copilot", "gemini", "qwen"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			p := lab.Project(`  prompt = "go [[tool ask: touch one]] [[tool ask: touch one]] [[text Done.]]"`)
			p.Do("apply", "--auto-approve", "--wait")
			first := p.Until("it asks", func(s agenttest.Status) bool {
				return asks(s) && strings.HasPrefix(s.Detail, `run "touch one"? [yes] [always] [`) && strings.HasSuffix(s.Detail, "[no]") && s.Question.Text == `run "touch one"?`
			})
			for _, command := range []string{"status", "show"} {
				args := []string{command, "api"}
				if out := p.Do(args...); !strings.Contains(out, `asks: run "touch one"? [yes] [always] [`) || !strings.Contains(out, "agentform answer api ANSWER") {
					t.Errorf("%s does not say what it asks and how to answer:\n%s", command, out)
				}
			}
			for _, no := range []string{"maybe", "9", "YES"} {
				if out, code := p.Run("answer", "api", no); code != 1 || !strings.Contains(out, "2 or always: ") {
					t.Errorf("answer %s: exit %d\n%s", no, code, out)
				}
			}
			if made(p, "one") || !asks(p.Status()) {
				t.Fatal("what is no answer has answered")
			}
			if out := p.Do("answer", "api", "yes"); !strings.Contains(out, `session.api: answered yes: run "touch one"?`) {
				t.Errorf("answer yes: %s", out)
			}
			p.Until("what was permitted is done", func(agenttest.Status) bool { return made(p, "one") })
			p.Until("it asks the same again", asks) // yes was not always
			p.Do("answer", "api", "yes", "--question", first.Question.ID)
			p.Until("the turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })

			p.Do("send", "api", "more [[tool ask: touch two]]")
			p.Until("it asks another", asks)
			if out, code := p.Run("answer", "api", "yes", "--question", first.Question.ID); code != 1 || !strings.Contains(out, "another question") {
				t.Errorf("the answer to another question: exit %d\n%s", code, out)
			}
			p.Do("answer", "api", "no")
			p.Until("it rests", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Question == nil })
			if made(p, "two") {
				t.Error("it did what was refused, or took the answer to another question")
			}

			p.Do("send", "api", "again [[tool ask: touch three]] [[text Done.]]")
			p.Until("it asks once more", asks)
			var given struct {
				Answers []struct {
					Outcome string
					Option  struct {
						Number int
						Word   string
					}
				}
			}
			if err := json.Unmarshal([]byte(p.Do("answer", "--all", "always", "--json")), &given); err != nil || len(given.Answers) != 1 ||
				given.Answers[0].Outcome != "answered" || given.Answers[0].Option.Number != 2 || given.Answers[0].Option.Word != "always" {
				t.Errorf("answer always: %+v, %v", given, err)
			}
			p.Until("it is done", func(s agenttest.Status) bool { return made(p, "three") && s.Activity == "idle" })
			if out, code := p.Run("answer", "api", "yes"); code != 1 || !strings.Contains(out, "asks no question") {
				t.Errorf("an answer to nothing: exit %d\n%s", code, out)
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}

// A workspace that is not trusted is asked about at the start, in the agent's own words, and
// yes trusts it. Gemini CLI leaves then, to be started again, or goes on if it closes its
// dialog first, which stops its timer for that.
func TestAnswerTrustByAgentform(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*agenttest.Lab){
		"claude": func(l *agenttest.Lab) {
			l.Write(".claude.json", `{"hasCompletedOnboarding":true,"customApiKeyResponses":{"approved":["`+l.Env["ANTHROPIC_API_KEY"][len(l.Env["ANTHROPIC_API_KEY"])-20:]+`"],"rejected":[]}}`)
		},
		"codex":  distrusted,
		"gemini": unset(`"folderTrust": {"enabled": false}`, `"folderTrust": {"enabled": true}`),
		"qwen":   distrustful,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			lab.Asks = true
			before(lab)
			p := lab.Project("")
			p.Do("apply", "--auto-approve")
			s := p.Until("it asks", asks)
			if !strings.HasPrefix(s.Detail, "trust ") || !strings.Contains(s.Detail, "[yes]") || !strings.Contains(s.Detail, "[no]") {
				lab.Moved("whether a folder is trusted is asked at the start", "%q", s.Detail)
			}
			if out, code := p.Run("answer", "api", "always"); code != 1 || !strings.Contains(out, "1 or yes: ") {
				t.Errorf("answer always: exit %d\n%s", code, out)
			}
			t.Log(p.Do("answer", "api", "yes"))
			p.Until("it rests", func(s agenttest.Status) bool {
				if name == "gemini" {
					text, _ := os.ReadFile(filepath.Join(lab.Home, ".gemini/trustedFolders.json"))
					if !strings.Contains(string(text), `"TRUST_FOLDER"`) {
						return false
					}
					if s.Activity == "exited" {
						p.Do("start", "api", "--wait")
						return false
					}
				}
				return s.State == "running" && (s.Activity == "idle" || s.Activity == "unobserved")
			})
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}

// A question of the model's is answered by number, by label, or with a text of one's own.
func TestAnswerQuestionsByAgentform(t *testing.T) {
	t.Parallel()
	claude := func(text string) string {
		return `[[tool AskUserQuestion {"questions":[{"question":"` + text + `?","header":"Color","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}]]`
	}
	qwen := func(text string) string {
		return strings.Replace(claude(text), "AskUserQuestion", "ask_user_question", 1)
	}
	gemini := func(text string) string {
		return `[[tool ask_user {"questions":[{"question":"` + text + `?","header":"Color","type":"choice","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}]]`
	}
	for _, c := range []struct {
		agent string
		ask   func(string) string
		free  string
	}{
		{"claude", claude, claude("Which color is it")},
		{"qwen", qwen, qwen("Which color is it")},
		{"gemini", gemini, `[[tool ask_user {"questions":[{"question":"Which color is it?","header":"Color","type":"text"}]}]]`},
	} {
		t.Run(c.agent, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, c.agent)
			p := lab.Project("")
			p.Do("apply", "--auto-approve", "--wait")
			for i, q := range []struct{ ask, answer, shown string }{
				{c.ask("Which color first"), "2", "Blue"},
				{c.ask("Which color then"), "red", "Red"},
				{c.ask("Which color last"), "a green one", "a green one"},
				{c.free, "1 more", "1 more"},
			} {
				p.Do("send", "api", "ask "+q.ask)
				s := p.Until("it asks", asks)
				if !strings.HasPrefix(s.Detail, "Which color") {
					lab.Moved("a question of the model's is the dialog's", "%q", s.Detail)
				}
				if out, code := p.Run("answer", "api", "yes"); i < 3 && (code != 1 || !strings.Contains(out, "1: Red")) {
					t.Errorf("answer yes: exit %d\n%s", code, out)
				} else if i == 3 && code == 1 {
					p.Do("answer", "api", q.answer)
				}
				if i < 3 {
					p.Do("answer", "api", q.answer)
				}
				p.Until("the turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == i+1 })
				if i < 3 {
					p.Until("the answer is shown", func(agenttest.Status) bool { return strings.Contains(p.Do("capture", "api"), q.shown) })
				}
			}
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}
