//go:build agents

package agenttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/session"
)

// asGemini has the prompt on the command line, and one model for everything.
func asGemini(in *session.StartInput) {
	in.Spec.Agent.PromptVia = "argument"
	in.Spec.Args = []string{"-m", "gemini-2.5-pro"}
	in.Spec.Agent.Permissions = "ask"
}

// unset is Gemini's settings without one thing.
func unset(setting, to string) func(*agenttest.Lab) {
	return func(l *agenttest.Lab) {
		file := filepath.Join(l.Home, ".gemini", "settings.json")
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		l.Write(".gemini/settings.json", strings.ReplaceAll(string(text), setting, to))
	}
}

// say types a prompt once it can be, and presses Enter until it was taken: on a
// busy machine an Enter that comes half a second after a paste can still be taken
// for a part of it.
func say(r *agenttest.Run, prompt string) {
	asked := len(r.Lab.Model.Turns())
	r.Until("it is ready", func(agenttest.Look) bool { return r.Ready() })
	r.Type(prompt)
	pressed := time.Now()
	r.Until("the model is asked", func(agenttest.Look) bool {
		if time.Since(pressed) > 5*time.Second {
			r.Keys("Enter")
			pressed = time.Now()
		}
		return len(r.Lab.Model.Turns()) > asked
	})
}

// quit ends Gemini by its own command, which is one once it is offered: before that
// it is a text to be sent. On a busy machine Enter can take another one of those that
// are offered, /clear, which leaves an empty composer.
func quit(r *agenttest.Run) {
	var pressed time.Time
	r.Until("it left", func(l agenttest.Look) bool {
		if exited(l) {
			return true
		}
		if time.Since(pressed) > 5*time.Second {
			if shows("Type your message")(l) {
				r.Paste("/quit")
				r.Until("the command is offered", func(l agenttest.Look) bool { return exited(l) || shows("Exit the cli")(l) })
			}
			r.Keys("Enter")
			pressed = time.Now()
		}
		return false
	})
}

// answered is a look at a turn that has ended.
func answered(n int) func(agenttest.Look) bool {
	return func(l agenttest.Look) bool {
		return idle(l) && l.Transcript != nil && l.Transcript.Turns == n && strings.Contains(l.Title, "Ready")
	}
}

// geminiWorks matches the timer of a Gemini CLI that has been at work for a second.
const geminiWorks = `\(esc to cancel, [1-9][\dms ]*\)`

var geminiSituations = []agenttest.Situation{
	{Name: "booting", Input: asGemini, Want: session.Booting},
	{Name: "idle", Input: asGemini, Want: session.Idle, Seen: both(shows("Type your message"), shows("Gemini CLI v"))},
	{Name: "working", Input: asGemini, Prompt: "wait [[delay 90s]]", Want: session.Working, Seen: matches(geminiWorks)},
	{Name: "queued", Input: asGemini, Prompt: "wait [[delay 90s]]", Want: session.Working,
		Steps: func(r *agenttest.Run) {
			r.Until("it works", matches(geminiWorks))
			r.Type("and then this", shows("Queued (press ↑ to edit)"))
		},
		Seen: shows("Queued (press ↑ to edit)")},
	{Name: "stalled", Input: asGemini, Prompt: "wait [[text I begin]] [[stall]]", Want: session.Working, Seen: matches(geminiWorks)},
	{Name: "approval", Input: asGemini, Prompt: "make it [[tool bash: touch made]]", Want: session.Blocked,
		Seen: func(l agenttest.Look) bool {
			return strings.Contains(l.Detection.Detail, "? Shell  touch made") && strings.Contains(l.Detection.Detail, "Allow execution of") && shows("1. Allow once")(l) && strings.Contains(l.Title, "Action Required")
		}},
	{Name: "trust-dialog", Before: unset(`"folderTrust": {"enabled": false}`, `"folderTrust": {"enabled": true}`), Input: asGemini, Want: session.Blocked,
		Seen: shows("1. Trust folder (shop)")},
	{Name: "login-dialog", Bare: true, Env: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"}, Input: asGemini, Want: session.Blocked,
		Seen: shows("How would you like to authenticate")},
	{Name: "api-key-dialog", Bare: true, Before: func(l *agenttest.Lab) {
		delete(l.Env, "GEMINI_API_KEY")
		l.Write(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},"general":{"enableAutoUpdateNotification":false}}`)
	}, Input: asGemini, Want: session.Blocked, Seen: shows("Enter Gemini API Key")},
	// It tries again for many minutes, and shows and writes nothing of it.
	{Name: "retrying", Input: asGemini, Prompt: "go [[status 429]]", Want: session.Working, Seen: matches(`\(esc to cancel, ([5-9]|\d\d|\d+m)`)},
	{Name: "limit-dialog", Input: asGemini, Prompt: "go [[limit 2h]]", Want: session.BlockedAPI, Seen: shows("1. Keep trying")},
	{Name: "limit", Input: asGemini, Prompt: "go [[limit 2h]]", Want: session.BlockedAPI,
		Steps: func(r *agenttest.Run) {
			r.Until("it asks", shows("1. Keep trying"))
			r.Press("2", shows("✕ [API Error: You have exhausted"))
		},
		Seen: shows("✕ [API Error: You have exhausted your daily quota")},
	{Name: "model-dialog", Input: asGemini, Prompt: "go [[status 404]]", Want: session.Blocked, Seen: shows("2. Stop")},
	{Name: "failed-400", Input: asGemini, Prompt: "go [[status 400]]", Want: session.Failed, Seen: shows("✕ [API Error: ")},
	{Name: "failed-401", Input: asGemini, Prompt: "go [[status 401]]", Want: session.Failed, Seen: shows("✕ [API Error: ")},
	{Name: "turn-done", Input: asGemini, Prompt: "make it [[tool bash: ls]] [[text It is made.]]", Want: session.Idle,
		Seen: both(shows("It is made."), answered(1))},
	{Name: "interrupted", Input: asGemini, Prompt: "wait [[delay 90s]]", Want: session.Idle,
		Steps: func(r *agenttest.Run) {
			r.Until("it works", matches(geminiWorks))
			r.Press("Escape", shows("Request cancelled."))
		},
		Seen: shows("Request cancelled.")},
	{Name: "exited", Input: asGemini, Prompt: "go [[text It is made.]]", Want: session.Exited,
		Steps: func(r *agenttest.Run) {
			r.Until("the turn has ended", answered(1))
			quit(r)
		},
		Seen: shows("To resume this session: gemini --resume")},
}

// Its id is the one that apply chose, and its file is there before any prompt.
func TestGeminiTakesAChosenConversation(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "gemini")
	run := lab.Start("", asGemini)
	run.Until("it is ready and has its file", func(agenttest.Look) bool { return run.Ready() && len(run.Files()) == 1 })
	say(run, "go [[text Here.]]")
	n := run.Until("a turn", answered(1)).Transcript
	if n.Conversation != run.Input.Fresh || n.Dir != lab.Dir || n.Prompts != 1 || n.LastPrompt != "go [[text Here.]]" || n.LastMessage != "Here." || n.Tokens == 0 || n.FirstTurnAt.IsZero() {
		lab.Moved("a chat tells conversation, folder, prompt, answer, tokens and turns", "%+v", *n)
	}
	kinds := run.Kinds()
	if !slices.Equal(kinds, []string{"user", "agent", "usage"}) {
		lab.Moved("a chat is told to people as prompt, answer and use", "%q", kinds)
	}
}

// However it ends, it is one process and nothing of it lives on; its exit code
// says nothing; and its conversation goes on where it was.
func TestGeminiEndsAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(*agenttest.Run)
		code int
	}{
		"quit":    {quit, 0},
		"SIGTERM": {func(r *agenttest.Run) { r.Signal(syscall.SIGTERM) }, 0},
		"SIGKILL": {func(r *agenttest.Run) { r.Signal(syscall.SIGKILL) }, -1},
		"closed":  {func(r *agenttest.Run) { r.Close() }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "gemini")
			run := lab.Start("first [[text One.]]", asGemini)
			run.Until("a turn", answered(1))
			selves := slices.DeleteFunc(lab.Alive(), func(p string) bool { return !strings.Contains(p, "bin/gemini ") })
			if len(selves) != 1 {
				lab.Moved("it is one process, whatever it runs beside", "%q", selves)
			}
			c.end(run)
			if name != "closed" {
				look := run.Until("it left", exited)
				if c.code >= 0 && (look.Exit.Code != c.code || look.Exit.Signal != "") {
					lab.Moved("its exit code is 0 however it was ended", "%+v", *look.Exit)
				}
				run.Close()
			}
			lab.UntilNone()

			conversation := run.Start.Conversation
			run = lab.Start("", asGemini, func(in *session.StartInput) { in.Conversation = conversation })
			// What is typed before the conversation is drawn is lost.
			run.Until("it shows the conversation", func(l agenttest.Look) bool { return run.Ready() && strings.Contains(l.Screen, "One.") })
			if asked := len(lab.Model.Turns()); asked != 1 {
				lab.Moved("resuming asks the model nothing", "%d requests", asked)
			}
			say(run, "second [[text Two.]]")
			second := run.Until("another turn", answered(2)).Transcript
			if second.Conversation != conversation || second.Prompts != 2 {
				lab.Moved("a resumed conversation goes on in its chat", "%+v", *second)
			}
			run.Close()
			lab.UntilNone()

			run = lab.Start("third [[text Three.]]", func(in *session.StartInput) {
				in.Conversation, in.Spec.Args = conversation, []string{"-m", "gemini-2.5-pro"}
			})
			run.Until("a third turn, with the prompt on the command line", answered(3))
			run.Close()
			lab.UntilNone()
		})
	}
}

// A prompt is text whatever it begins with, except for a slash: that is a command,
// by argument as when pasted.
func TestGeminiTakesPromptsAsText(t *testing.T) {
	t.Parallel()
	for i, prompt := range []string{"-v [[text dash]]", "!touch made [[text bang]]", "@nothing [[text at]]", "“ü” 🙂\nline two [[text uni]]"} {
		for _, via := range []string{"argument", "paste"} {
			t.Run(fmt.Sprint(via, i), func(t *testing.T) {
				t.Parallel()
				lab := agenttest.New(t, "gemini")
				run := lab.Start(prompt, asGemini, func(in *session.StartInput) { in.Spec.Agent.PromptVia = via })
				if via == "paste" {
					say(run, run.Start.Paste)
				}
				run.Until("a turn", answered(1))
				asked := lab.Model.Turns()
				if len(asked) != 1 || strings.TrimSpace(asked[0].Prompt()) != prompt {
					lab.Moved("a prompt is text", "%d requests, %q", len(asked), asked[0].Prompt())
				}
				if _, err := os.Stat(filepath.Join(lab.Dir, "made")); err == nil {
					lab.Moved("a prompt with ! after a blank runs no shell", "it did")
				}
			})
		}
	}
}

func TestGeminiSaysThatAConversationIsGone(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "gemini")
	run := lab.Start("", asGemini, func(in *session.StartInput) { in.Conversation = "01a1fc9c-c0a3-4732-b183-1a90f2698aaa" })
	look := run.Until("it left", exited)
	if look.Exit.Code != 42 {
		lab.Moved("a conversation that is gone is status 42", "%+v\n%s", *look.Exit, look.Screen)
	}
}

// What it may do unasked.
func TestGeminiPermissions(t *testing.T) {
	t.Parallel()
	for permission, asks := range map[string]bool{"ask": true, "edits": true, "all": false} {
		t.Run(permission, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "gemini")
			run := lab.Start("go [[tool bash: touch made]] [[text Made.]]", asGemini, permissions(permission))
			made := filepath.Join(lab.Dir, "made")
			if asks {
				run.Until("it asks", func(l agenttest.Look) bool { return l.Detection.Activity == session.Blocked })
				if _, err := os.Stat(made); err == nil {
					lab.Moved("it does nothing before it was answered", "%s is there", made)
				}
				run.Press("1", answered(1))
			}
			run.Until("a turn", both(answered(1), shows("Made.")))
			if _, err := os.Stat(made); err != nil {
				lab.Moved("what it may do is done", "%v", err)
			}
		})
	}
}

// Settings of ours are read only as root and from a folder that root alone may
// write to, and none above it that others may. Then hooks tell what happens, and
// a key in the environment is enough to be logged in. Elsewhere it warns, and
// works without.
func TestGeminiHooks(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Run("not root", func(t *testing.T) {
			lab := agenttest.New(t, "gemini")
			run := lab.Start("go [[text Here.]]", asGemini)
			run.Until("a turn", answered(1))
			if len(run.Start.Files) > 0 || len(run.Signals()) > 0 {
				lab.Moved("settings of ours are root's alone", "%v", run.Start.Files)
			}
		})
		return
	}
	t.Run("private", func(t *testing.T) {
		t.Parallel()
		private, err := os.MkdirTemp(os.Getenv(agenttest.Folder), "private-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(private); err != nil {
				t.Error(err)
			}
		})
		lab := agenttest.Bare(t, "gemini")
		run := lab.Start("go [[tool bash: touch made]] [[text Here.]]", asGemini, func(in *session.StartInput) {
			in.Private, in.Spec.Secrets, in.Spec.Agent.Trust = private, []string{"GEMINI_API_KEY"}, true
		})
		run.Until("it asks", both(told("Notification"), func(l agenttest.Look) bool { return l.Detection.Activity == session.Blocked }))
		run.Press("1", answered(1))
		look := run.Until("a turn", both(answered(1), told("AfterAgent")))
		for _, event := range []string{"SessionStart", "BeforeAgent"} {
			if !told(event)(look) {
				lab.Moved("its hooks tell "+event, "%d signals", len(look.Signals))
			}
		}
	})
	t.Run("open to others", func(t *testing.T) {
		t.Parallel()
		lab := agenttest.New(t, "gemini") // below /tmp
		run := lab.Start("go [[text Here.]]", asGemini)
		look := run.Until("a turn", answered(1))
		if len(look.Signals) > 0 || !strings.Contains(look.Screen, "Security Warning: Skipping system defaults file") {
			lab.Moved("settings in a folder that others may write to are skipped with a warning", "%d signals\n%s", len(look.Signals), look.Screen)
		}
	})
}

// A turn that fails or is cut off stays visible in the file, and the next one
// goes on.
func TestGeminiGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "gemini")
	run := lab.Start("go [[status 401]]", asGemini)
	look := run.Until("it failed", func(l agenttest.Look) bool { return l.Detection.Activity == session.Failed })
	if look.Detection.Source != agent.FromTranscript || !strings.Contains(look.Detection.Detail, "401") {
		lab.Moved("the chat has the error", "%+v", look.Detection)
	}
	say(run, "again [[text Here.]]")
	run.Until("a turn", answered(2))
}
