//go:build agents

package agenttest_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/session"
)

// composed is a look at the composer of Qwen Code at rest, which comes a little after what
// its session file says.
func composed(l agenttest.Look) bool {
	return shows("Type your message")(l) && !shows("esc to cancel")(l)
}

// distrustful are settings with which Qwen Code asks whether to trust a folder: by default
// it does not.
func distrustful(l *agenttest.Lab) {
	l.Write(".qwen/settings.json", `{"$version": 4, "security": {"folderTrust": {"enabled": true, "featureEnabled": true}}, "memory": {"enableManagedAutoMemory": false}}`)
}

// leave ends Qwen Code or Copilot CLI by two Ctrl-C, again until it has left: they forget the
// first one after a second or two.
func leave(r *agenttest.Run) {
	var pressed time.Time
	r.Until("it left", func(l agenttest.Look) bool {
		if !exited(l) && time.Since(pressed) > 3*time.Second {
			r.Keys("C-c")
			time.Sleep(300 * time.Millisecond)
			r.Keys("C-c")
			pressed = time.Now()
		}
		return exited(l)
	})
}

var qwenSituations = []agenttest.Situation{
	{Name: "booting", Want: session.Booting},
	{Name: "idle", Want: session.Idle, Seen: both(composed, shows("Qwen Code (v"))},
	{Name: "working", Prompt: "wait [[delay 90s]]", Want: session.Working, Seen: both(shows("esc to cancel"), says(session.Working))},
	{Name: "queued", Prompt: "wait [[delay 90s]]", Want: session.Working,
		Steps: func(r *agenttest.Run) {
			r.Until("the model is asked", func(agenttest.Look) bool { return len(r.Lab.Model.Turns()) > 0 })
			r.Type("and then this", both(shows("and then this"), shows("Type your message")))
		},
		Seen: shows("and then this")},
	{Name: "stalled", Prompt: "wait [[text I begin]] [[stall]]", Want: session.Working, Seen: both(shows("✦ I begin"), shows("esc to cancel"))},
	{Name: "approval", Prompt: "make it [[text I look.]] [[tool bash: touch made]]", Want: session.Blocked, Input: permissions("ask"), Seen: both(told("PermissionRequest"), asked)},
	{Name: "approval-edit", Want: session.Blocked, Input: permissions("ask"), Seen: both(told("PermissionRequest"), asked),
		Steps: func(r *agenttest.Run) { // it takes absolute paths alone
			r.Until("it is ready", func(agenttest.Look) bool { return r.Ready() })
			r.Type(`write [[tool write_file {"file_path":"`+r.Lab.Dir+`/notes.md","content":"hello\n"}]]`, told("PermissionRequest"))
		}},
	{Name: "question", Want: session.Blocked, Seen: both(told("PermissionRequest"), both(asked, shows("Type something"))),
		Prompt: `ask [[tool ask_user_question {"questions":[{"question":"Which color?","header":"Color","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}]]`},
	{Name: "refused", Prompt: "make it [[tool bash: touch made]]", Want: session.Idle, Input: permissions("ask"),
		Steps: func(r *agenttest.Run) {
			r.Until("it asks", asked)
			r.Press("Escape", turned)
		},
		Seen: composed},
	{Name: "trust-dialog", Before: distrustful, Want: session.Blocked, Seen: both(shows("1. Trust folder"), asked)},
	{Name: "login-dialog", Bare: true, Want: session.Blocked, Seen: shows("Custom Provider"),
		Before: func(l *agenttest.Lab) { delete(l.Env, "OPENAI_API_KEY") }},
	// It tries again for minutes, which its session file says.
	{Name: "retrying", Prompt: "go [[status 429]]", Want: session.BlockedAPI, Seen: shows("esc to cancel")},
	{Name: "failed-400", Prompt: "go [[status 400]]", Want: session.Failed, Seen: both(shows("✕ [API Error: "), turned, composed)},
	{Name: "failed-401", Prompt: "go [[status 401]]", Want: session.Failed, Seen: both(shows("✕ [API Error: "), turned, composed)},
	{Name: "turn-done", Prompt: "make it [[tool bash: ls]] [[text It is made.]]", Input: permissions("all"), Want: session.Idle,
		Seen: both(shows("✦ It is made."), turned, composed, told("Stop"))},
	{Name: "interrupted", Prompt: "wait [[text I begin]] [[stall]]", Want: session.Idle,
		Steps: func(r *agenttest.Run) {
			r.Until("it works", shows("✦ I begin"))
			r.Press("Escape", shows("Request cancelled."))
		},
		Seen: both(shows("Request cancelled."), turned, composed)},
	{Name: "exited", Prompt: "go [[text It is made.]]", Want: session.Exited,
		Steps: func(r *agenttest.Run) {
			r.Until("the turn has ended", turned)
			leave(r)
		},
		Seen: exited},
}

// However it ends, nothing of it lives on, and its conversation goes on where it was,
// without asking again. One that is gone, or is there already, is said to be.
func TestQwenEndsAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(*agenttest.Run)
		code int // its exit status; of a signal 128 and its number
	}{
		"left":    {leave, 0},
		"SIGTERM": {func(r *agenttest.Run) { r.Signal(syscall.SIGTERM) }, 143},
		"SIGKILL": {func(r *agenttest.Run) { r.Signal(syscall.SIGKILL) }, 137},
		"closed":  {func(r *agenttest.Run) { r.Close() }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "qwen")
			run := lab.Start("first [[text One.]]")
			n := run.Until("a turn", turns(1)).Transcript
			if n.Conversation != run.Input.Fresh || n.Dir != lab.Dir || n.Prompts != 1 || n.LastMessage != "One." || n.Tokens != 1234 || n.FirstTurnAt.IsZero() {
				lab.Moved("a session file tells conversation, folder, prompt, answer, tokens and turns", "%+v", *n)
			}
			if kinds := strings.Join(run.Kinds(), " "); kinds != "user agent usage" {
				lab.Moved("a session file is told to people", "%q", kinds)
			}
			c.end(run)
			if c.code >= 0 {
				if look := run.Until("it left", exited); look.Exit.Code != c.code {
					lab.Moved("its exit status after "+name, "%d, not %d", look.Exit.Code, c.code)
				}
				run.Close()
			}
			lab.UntilNone()

			id := run.Start.Conversation
			run = lab.Start("second [[text Two.]]", func(in *session.StartInput) { in.Conversation = id })
			n = run.Until("another turn", turns(2)).Transcript
			if n.Conversation != id || n.Prompts != 2 || len(lab.Model.Turns()) != 2 {
				lab.Moved("a conversation goes on in its session file", "%d requests, %+v", len(lab.Model.Turns()), *n)
			}
			run.Close()
			lab.UntilNone()
			if name != "closed" {
				return
			}
			for what, change := range map[string]func(*session.StartInput){
				"No saved session found": func(in *session.StartInput) { in.Conversation = "01a1fc9c-c0a3-4732-b183-1a90f2698aaa" },
				"is already in use":      func(in *session.StartInput) { in.Fresh = id },
			} {
				run = lab.Start("", change)
				if look := run.Until("it left", exited); look.Exit.Code != 1 || !strings.Contains(look.Screen, what) {
					lab.Moved("it leaves with 1 and says: "+what, "%+v\n%s", *look.Exit, look.Screen)
				}
				run.Close()
			}
			lab.UntilNone()
		})
	}
}

// A prompt is text whatever it begins with, by argument and typed.
func TestQwenTakesPromptsAsText(t *testing.T) {
	t.Parallel()
	prompts := []string{"/quit [[text slash]]", "!touch made [[text bang]]", "?what [[text mark]]", "-v [[text dash]]", "@nothing [[text at]]", "“ü” 🙂\nline two [[text uni]]"}
	is := func(lab *agenttest.Lab, n int, prompt string) {
		asked := lab.Model.Turns()
		if last := asked[len(asked)-1].Prompt(); len(asked) != n || strings.Trim(last, " \n\u200b") != prompt {
			lab.Moved("a prompt is text", "%d requests, the last with %q", len(asked), last)
		}
		if _, err := os.Stat(filepath.Join(lab.Dir, "made")); err == nil {
			lab.Moved("a prompt with ! runs no shell", "it did")
		}
	}
	t.Run("typed", func(t *testing.T) {
		t.Parallel()
		lab := agenttest.New(t, "qwen")
		run := lab.Start("")
		run.Until("it is ready", func(agenttest.Look) bool { return run.Ready() })
		for i, prompt := range prompts {
			run.Type(agent.For(lab.Spec).(interface{ Typed(string) string }).Typed(prompt), turns(i+1))
			is(lab, i+1, prompt)
		}
	})
	for _, prompt := range prompts[:4] {
		t.Run(prompt[:2], func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "qwen")
			lab.Start(prompt).Until("a turn", turns(1))
			is(lab, 1, prompt)
		})
	}
}

// Hooks in the settings of a person are no obstacle to agentform's, which run too; nor
// are those of a project, unless both have some: then its session file and its screen tell
// what happens.
func TestQwenWithHooksOfThePersons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		person, project, told bool
	}{
		"person":  {true, false, true},
		"project": {false, true, true},
		"both":    {true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "qwen")
			hooks := func(to string) string {
				return `{"$version": 4, "memory": {"enableManagedAutoMemory": false}, "hooks": {"Stop": [{"hooks": [{"type": "command", "name": "own", "command": "echo told >>` + filepath.Join(lab.Home, to) + `"}]}]}}`
			}
			var own []string
			if c.person {
				lab.Write(".qwen/settings.json", hooks("person"))
				own = append(own, "person")
			}
			if c.project {
				lab.Write("../shop/.qwen/settings.json", hooks("project"))
				own = append(own, "project")
			}
			run := lab.Start("make it [[tool bash: touch made]] [[text Done.]]", permissions("ask"))
			run.Until("it asks", func(l agenttest.Look) bool {
				return l.Detection.Activity == session.Blocked && l.Detection.Question != nil && (!c.told || told("PermissionRequest")(l))
			})
			// A digit too many would stay in the composer, and the dialog is not on the screen
			// while that is drawn again.
			run.Press("Enter", func(agenttest.Look) bool { return len(lab.Model.Turns()) > 1 })
			look := run.Until("the turn has ended", func(l agenttest.Look) bool {
				return l.Detection.Activity == session.Idle && composed(l) && (!c.told || told("Stop")(l))
			})
			if !c.told && len(look.Signals) > 0 {
				lab.Moved("it runs hooks of the person and of the project alone", "%s", look.Signals[0].Data)
			}
			for _, name := range own {
				if text, err := os.ReadFile(filepath.Join(lab.Home, name)); err != nil || len(text) == 0 {
					lab.Moved("hooks of the "+name+"'s run", "%v", err)
				}
			}
		})
	}
}
