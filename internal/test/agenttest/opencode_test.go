//go:build agents

package agenttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/session"
)

// TestSituationsOfOpencode brings one opencode, which takes long to start, from situation to
// situation, so that each has the ones before above it. With a folder for captures it
// records them, in terminals of several widths.
func TestSituationsOfOpencode(t *testing.T) {
	t.Parallel()
	widths := []int{120}
	if os.Getenv(agenttest.Captures) != "" {
		widths = []int{60, 80, 120, 200}
	}
	for _, columns := range widths {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			walkOpencode(t, columns)
		})
	}
}

func walkOpencode(t *testing.T, columns int) {
	lab := agenttest.New(t, "opencode")
	lab.Columns = columns
	asks := func(in *session.StartInput) { in.Spec.Agent.Permissions = "ask" }
	run := lab.Start("", asks)
	// In narrow terminals texts wrap.
	has := func(text string) func(agenttest.Look) bool {
		dense := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "┃", "")), "") }
		return func(l agenttest.Look) bool { return strings.Contains(dense(l.Screen), dense(text)) }
	}
	situation := func(name string, want session.Activity, seen ...func(agenttest.Look) bool) agenttest.Look {
		t.Helper()
		look := run.Until(name+": "+string(want), func(l agenttest.Look) bool {
			for _, s := range seen {
				if !s(l) {
					return false
				}
			}
			return l.Detection.Activity == want
		})
		if folder := os.Getenv(agenttest.Captures); folder != "" {
			if columns != 120 {
				name = fmt.Sprintf("%s-%d", name, columns)
			}
			if err := run.Capture(folder, name, look); err != nil {
				t.Error(err)
			}
		}
		return look
	}
	ended := 0
	ends := func() func(agenttest.Look) bool {
		ended++
		n := ended
		return func(l agenttest.Look) bool {
			return l.Transcript != nil && l.Transcript.Turns == n && has("ctrl+p commands")(l) && !has("esc interrupt")(l) && !has("again to interrupt")(l)
		}
	}
	prompts := 0
	say := func(text string) {
		t.Helper()
		prompts++
		n := prompts
		run.Type(text, func(l agenttest.Look) bool {
			return l.Transcript != nil && l.Transcript.Prompts+len(l.Transcript.Queued) == n
		})
	}
	interrupt := func() {
		t.Helper()
		run.Press("Escape", func(l agenttest.Look) bool { return has("esc again to interrupt")(l) || idle(l) })
		run.Press("Escape", idle)
	}

	situation("idle", session.Idle, has("Ask anything"))
	say("make it [[text I look.]] [[tool bash: touch made]] [[text It is made.]]")
	look := situation("approval", session.Blocked, has("Allow once"))
	if look.Detection.Detail != `run "touch made"?` {
		lab.Moved("the plugin is told what is asked", "%q", look.Detection.Detail)
	}
	run.Keys("Right")
	run.Press("Enter", has("△ Always allow"))
	situation("approval-always", session.Blocked)
	run.Press("Escape", has("Allow once"))
	if _, err := os.Stat(filepath.Join(lab.Dir, "made")); err == nil {
		lab.Moved("it does nothing before it was answered", "the file is there")
	}
	run.Press("Enter", has("It is made."))
	look = situation("turn-done", session.Idle, ends())
	n := look.Transcript
	if _, err := os.Stat(filepath.Join(lab.Dir, "made")); err != nil {
		lab.Moved("what was allowed is done", "%v", err)
	}
	if n.Conversation == "" || n.Dir != lab.Dir || n.Prompts != 1 || !strings.HasPrefix(n.LastPrompt, "make it") || n.LastMessage != "It is made." || n.Tokens == 0 {
		lab.Moved("the events tell conversation, folder, prompt, answer and tokens", "%+v", *n)
	}
	if kinds := strings.Join(run.Kinds(), " "); kinds != "user agent tool result usage agent usage" {
		lab.Moved("the events are told to people", "%q", kinds)
	}

	say(`write [[tool write {"filePath":"notes.md","content":"hello\n"}]]`)
	situation("approval-edit", session.Blocked, has("Allow once"))
	run.Press("Escape", idle)
	situation("rejected", session.Idle, ends())
	if _, err := os.Stat(filepath.Join(lab.Dir, "notes.md")); err == nil {
		lab.Moved("what was refused is not done", "the file is there")
	}

	say(`ask [[tool question {"questions":[{"question":"Which color?","header":"Color","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}]] [[text Noted.]]`)
	situation("question", session.Blocked, has("Type your own answer"))
	run.Press("2", has("Noted."))
	situation("answered", session.Idle, ends())

	say("wait [[delay 90s]]")
	situation("working", session.Working, has("esc interrupt"))
	interrupt()
	situation("interrupted", session.Idle, ends())

	if os.Getenv(agenttest.Captures) != "" { // what a person has pasted is no sign of its own
		say(aboutPasted("opencode", "[[text It was busy.]]"))
		situation("pasted", session.Idle, has("It was busy."), ends())
		say(aboutPasted("opencode", "[[delay 90s]]"))
		situation("pasted-working", session.Working, has("esc interrupt"))
		interrupt()
		ends()
	}

	say("go [[status 429]]")
	situation("retrying", session.BlockedAPI, has("scripted too many requests"))
	interrupt()
	ends()

	say("go [[status 500]]")
	run.Until("it works on after a server's error", func(l agenttest.Look) bool {
		return l.Detection.Activity == session.Working && has("scripted internal server error")(l) && has("[retrying")(l)
	})
	interrupt()
	ends()

	say("go [[status 401]]")
	look = situation("failed-401", session.Failed, has("scripted unauthorized"), ends())
	if look.Detection.Detail != "scripted unauthorized" {
		lab.Moved("the plugin is told why a turn failed", "%q", look.Detection.Detail)
	}

	// A prompt is text whatever it begins with.
	typed := agent.For(lab.Spec).(interface{ Typed(string) string }).Typed
	for _, prompt := range []string{"!touch bang [[text bang]]", "/exit [[text slash]]", "“ü” 🙂\nline two [[text uni]]"} {
		asked := len(lab.Model.Turns())
		say(typed(prompt))
		run.Until("a turn", ends())
		if turns := lab.Model.Turns(); len(turns) != asked+1 || strings.TrimSpace(turns[asked].Prompt()) != prompt {
			lab.Moved("a prompt is text", "%d requests, %q", len(turns)-asked, turns[len(turns)-1].Prompt())
		}
	}
	if _, err := os.Stat(filepath.Join(lab.Dir, "bang")); err == nil {
		lab.Moved("a prompt with ! after a blank runs no shell", "it did")
	}

	queued := filepath.Join(lab.Home, "queued")
	say("say [[text Goodbye!]] [[await " + queued + "]]")
	run.Until("it works", func(l agenttest.Look) bool { return l.Detection.Activity == session.Working })
	say("and then [[text Then.]]")
	situation("queued", session.Working, has("QUEUED"), func(l agenttest.Look) bool { return len(l.Transcript.Queued) == 1 })
	if err := os.WriteFile(queued, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run.Until("what was queued is answered", func(l agenttest.Look) bool {
		return l.Transcript.LastMessage == "Then." && l.Detection.Activity == session.Idle
	})
	conversation, turns := n.Conversation, run.Transcript().Turns
	run.Press("C-c", exited)
	look = situation("exited", session.Exited, has("opencode -s "+conversation))
	if look.Exit.Code != 0 {
		lab.Moved("Ctrl-C leaves with 0", "%+v", *look.Exit)
	}
	run.Close()
	lab.UntilNone()

	// Its conversation goes on where it was.
	run = lab.Start("second [[text Two.]]", asks, func(in *session.StartInput) { in.Conversation = conversation })
	run.Until("it is ready", func(agenttest.Look) bool { return run.Ready() })
	situation("resumed", session.Idle, has("Then."))
	say(run.Start.Paste)
	run.Until("another turn", func(l agenttest.Look) bool {
		return idle(l) && l.Transcript.Turns == turns+1 && l.Transcript.LastMessage == "Two."
	})
	if got := run.Transcript().Conversation; got != conversation {
		lab.Moved("a resumed conversation goes on in its file", "%s, not %s", got, conversation)
	}
	run.Close() // as when its terminal is killed
	lab.UntilNone()
}

// From the manifest and back: it asks, is answered, has done its turn, and goes on with its
// conversation after a restart.
func TestOpencodeByAgentform(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "opencode")
	p := lab.Project(`  prompt = "fix it [[text I look.]] [[tool bash: touch made]] [[text Done here.]]"`)
	p.Do("apply", "--auto-approve", "--wait")
	p.Until("it asks", func(s agenttest.Status) bool {
		return s.Activity == "blocked" && strings.HasPrefix(s.Detail, `run "touch made"?`)
	})
	if made(p, "made") {
		t.Error("the command ran before it was allowed")
	}
	p.Until("its dialog is drawn", asks)
	if out := p.Do("answer", "api", "yes"); !strings.Contains(out, `session.api: answered yes: run "touch made"?`) {
		t.Errorf("answer yes: %s", out)
	}
	p.Until("the turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 && made(p, "made") })
	if out, code := p.Run("plan", "--detailed-exitcode"); code != 0 {
		t.Errorf("a plan after it has worked: exit %d\n%s", code, out)
	}
	p.Do("restart", "api")
	p.Do("send", "api", "and then [[text Then.]]")
	p.Until("the conversation goes on", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 2 })
	p.Do("send", "api", "more [[tool bash: mkdir two]]")
	p.Until("it asks another", asks)
	p.Do("answer", "api", "no")
	p.Until("its turn ends without", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 3 })
	p.Do("send", "api", "more [[tool bash: touch three]] [[tool bash: touch four]] [[text Done.]]")
	p.Until("it asks once more", asks)
	if out := p.Do("answer", "api", "always"); !strings.Contains(out, "asks: This will allow the following patterns until OpenCode is restarted - touch *") {
		t.Errorf("answer always: %s", out)
	}
	p.Do("answer", "api", "yes")
	p.Until("it asks no more", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 4 })
	if made(p, "two") || !made(p, "three") || !made(p, "four") {
		t.Error("it did what was refused, or did not what was allowed")
	}
	p.Do("send", "api", "wait [[stall]]")
	p.Until("it works", activity("working"))
	p.Do("destroy", "--auto-approve")
	lab.UntilNone()
}
