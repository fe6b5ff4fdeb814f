//go:build agents

package agenttest_test

import (
	"encoding/json"
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

// A turn with a question in it, from the launch to the end, by every signal.
func TestClaudeTurn(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "claude")
	run := lab.Start("fix it [[text I look.]] [[tool ask: echo hi > made]] [[text Done here.]]")
	if run.Start.Conversation != run.Input.Fresh {
		t.Errorf("conversation %q, not the one chosen", run.Start.Conversation)
	}
	look := run.Until("it asks", func(l agenttest.Look) bool { return l.Detection.Activity == session.Blocked })
	if !strings.Contains(look.Detection.Detail, "echo hi > made") && !strings.Contains(look.Detection.Detail, "Do you want to proceed?") {
		lab.Moved("a question is told", "%+v", look.Detection)
	}
	if run.Ready() {
		lab.Moved("at a question nothing can be typed", "%s", look.Screen)
	}
	run.Press("Enter", told("PostToolUse"))
	look = run.Until("the turn ends", turns(1))
	if _, err := os.Stat(filepath.Join(lab.Dir, "made")); err != nil {
		lab.Moved("Enter at a question means yes", "%v", err)
	}
	n := look.Transcript
	if n.Conversation != run.Input.Fresh || n.Dir != lab.Dir || n.Prompts != 1 || n.LastMessage != "Done here." || n.Tokens != 2*1234 || n.FirstTurnAt.IsZero() {
		lab.Moved("a transcript tells conversation, folder, prompt, answer, tokens and turns", "%+v", *n)
	}
	if files := run.Files(); len(files) != 2 || filepath.Base(files[0]) != run.Input.Fresh+".jsonl" {
		lab.Moved("a transcript is named after its conversation, and beside it is a state file", "%q", files)
	}
	want := []string{"SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Stop"}
	if got := events(run); !slices.Equal(got, want) {
		lab.Moved("the hooks of a turn", "%q, not %q", got, want)
	}
	kinds := run.Kinds()
	if want := []string{"user", "agent", "tool", "result", "agent", "usage"}; !slices.Equal(kinds, want) {
		lab.Moved("a transcript is told to people as prompt, answer, tool, result, answer, use", "%q", kinds)
	}
}

// events are what the hooks told, without what comes when it likes.
func events(run *agenttest.Run) []string {
	var names []string
	for _, s := range run.Signals() {
		var told struct {
			Event string `json:"hook_event_name"`
		}
		if json.Unmarshal(s.Data, &told) == nil && told.Event != "Notification" {
			names = append(names, told.Event)
		}
	}
	return names
}

// Without a prompt there is a state file from the start, and never a transcript.
func TestClaudeWithoutAPrompt(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "claude")
	run := lab.Start("")
	run.Until("it is idle", func(l agenttest.Look) bool { return says(session.Idle)(l) && run.Ready() })
	files := run.Files()
	if len(files) != 1 || filepath.Base(files[0]) != fmt.Sprint(run.Process().PID)+".json" {
		lab.Moved("without a prompt there is a state file and no transcript", "%q", files)
	}
	var state struct {
		Start string `json:"procStart"`
	}
	if err := json.Unmarshal(run.Lines()[0], &state); err != nil || state.Start != fmt.Sprint(run.Process().Start) {
		lab.Moved("a state file has the start time of its process", "%q, not %d (%v)", state.Start, run.Process().Start, err)
	}
	run.Type("go [[text Here.]]", turns(1))
	if asked := lab.Model.Turns(); len(asked) != 1 {
		lab.Moved("what is typed is asked once", "%d requests", len(asked))
	}
}

// However it ends, nothing of it lives on, and its conversation goes on where it
// was, without asking again.
func TestClaudeEndsAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   func(*agenttest.Run)
		code  int  // its exit status; of a signal 128 and its number
		state bool // a state file is left behind
	}{
		"exit":    {end: func(r *agenttest.Run) { r.Type("/exit", exited) }, code: 0},
		"SIGTERM": {end: func(r *agenttest.Run) { r.Signal(syscall.SIGTERM) }, code: 143},
		"SIGHUP":  {end: func(r *agenttest.Run) { r.Signal(syscall.SIGHUP) }, code: 129},
		"SIGKILL": {end: func(r *agenttest.Run) { r.Signal(syscall.SIGKILL) }, code: 137, state: true},
		"closed":  {end: func(r *agenttest.Run) { r.Close() }, code: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "claude")
			run := lab.Start("first [[text One.]]")
			run.Until("a turn", turns(1))
			// Claude can write an answer before its question, which a SIGKILL in between loses.
			run.Until("its prompt is written", func(agenttest.Look) bool { return run.Transcript().Prompts == 1 })
			process := run.Process()
			c.end(run)
			if c.code >= 0 {
				if look := run.Until("it left", exited); look.Exit.Code != c.code {
					lab.Moved("its exit status after "+name, "%d, not %d", look.Exit.Code, c.code)
				}
				run.Close()
			}
			lab.UntilNone()
			_, err := os.Stat(filepath.Join(lab.Home, ".claude", "sessions", fmt.Sprint(process.PID)+".json"))
			if left := err == nil; left != c.state {
				lab.Moved("whether a state file is left behind after "+name, "%v, not %v", left, c.state)
			}

			if name == "SIGTERM" || name == "SIGHUP" {
				return // as after SIGKILL, of which least is left
			}
			id := run.Start.Conversation
			run = lab.Start("", func(in *session.StartInput) { in.Conversation = id })
			run.Until("it is ready, and what was said is shown", func(l agenttest.Look) bool {
				return run.Ready() && len(run.Files()) == 2 && shows("● One.")(l)
			})
			if asked := len(lab.Model.Turns()); asked != 1 {
				lab.Moved("going on asks the model nothing", "%d requests", asked)
			}
			run.Type("second [[text Two.]]", turns(2))
			n := run.Until("its second prompt is written", func(l agenttest.Look) bool { return l.Transcript.Prompts == 2 }).Transcript
			if n.Conversation != id {
				lab.Moved("a conversation goes on in its transcript, under its id", "%+v", *n)
			}
			if asked := lab.Model.Turns(); !slices.Equal(asked[len(asked)-1].Prompts, []string{"first [[text One.]]", "second [[text Two.]]"}) {
				lab.Moved("the model is told what was said before", "%q", asked[len(asked)-1].Prompts)
			}
			run.Close()
			lab.UntilNone()
		})
	}
}

// A conversation that is gone is said to be gone, and nothing is begun instead.
func TestClaudeConversationGone(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "claude")
	run := lab.Start("go on [[text Never.]]", func(in *session.StartInput) { in.Conversation = "99999999-9999-4999-8999-999999999999" })
	look := run.Until("it left", exited)
	if look.Exit.Code != 1 || !strings.Contains(look.Screen, "No conversation found") {
		lab.Moved("it leaves with 1 and says that there is no such conversation", "%d\n%s", look.Exit.Code, look.Screen)
	}
	if asked := lab.Model.Turns(); len(asked) > 0 {
		lab.Moved("without its conversation it asks the model nothing", "%d requests", len(asked))
	}
}

// A limit that passes is waited for, and the turn comes to its end.
func TestClaudeRetries(t *testing.T) {
	t.Parallel()
	for status, word := range map[string]string{"429": "rate_limit", "500": "server_error", "401": "authentication_failed"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "claude")
			run := lab.Start("go [[status " + status + " x2]] [[text At last.]]")
			look := run.Until("the turn ends", func(l agenttest.Look) bool { return l.Transcript != nil && l.Transcript.Turns == 1 })
			if look.Transcript.LastMessage != "At last." || len(lab.Model.Turns()) != 3 {
				lab.Moved("it tries again after "+status, "%d requests, %q", len(lab.Model.Turns()), look.Transcript.LastMessage)
			}

			lab.Env["CLAUDE_CODE_MAX_RETRIES"] = "0"
			run = lab.Start("again [[status " + status + "]]")
			run.Until("it gives up", told("StopFailure"))
			said := run.Signals()
			if text := string(said[len(said)-1].Data); !strings.Contains(text, `"error":"`+word+`"`) {
				lab.Moved("its word for "+status, "%s", text)
			}
		})
	}
}

// A model that says no more looks like one that works: only time tells.
func TestClaudeStall(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "claude")
	run := lab.Start("go [[text Half of it]] [[stall]]")
	half := run.Until("half of the answer", shows("● Half of it"))
	look := run.Until("some seconds later", func(l agenttest.Look) bool { return l.Now.Sub(half.Now) > 6*time.Second })
	if look.Detection.Activity != session.Working || look.Transcript.Activity != session.Working {
		lab.Moved("a stalled turn looks like work", "%+v, its files: %s", look.Detection, look.Transcript.Activity)
	}
	if late := look.Transcript.At.Sub(half.Now); late > time.Second {
		lab.Moved("a stalled turn writes nothing", "it did, %s after what it last said", late)
	}
}

// Its id is taken once: another session under it does not start.
func TestClaudeSessionIDIsTakenOnce(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "claude")
	run := lab.Start("first [[text One.]]")
	run.Until("a turn", turns(1))
	again := lab.Start("again [[text Two.]]", func(in *session.StartInput) { in.Fresh = run.Start.Conversation })
	look := again.Until("it left", exited)
	if look.Exit.Code != 1 || !strings.Contains(look.Screen, "is already in use") {
		lab.Moved("an id that is in use is refused", "%d\n%s", look.Exit.Code, look.Screen)
	}
}

// Whatever a prompt begins with, it is text, by argument and typed.
func TestClaudeTakesPromptsAsText(t *testing.T) {
	t.Parallel()
	prompts := []string{"/exit [[text slash]]", "!touch made [[text bang]]", "-v [[text dash]]", "@nothing [[text at]]", "#note [[text hash]]", "“ü” 🙂\nline two [[text uni]]"}
	t.Run("typed", func(t *testing.T) {
		t.Parallel()
		lab := agenttest.New(t, "claude")
		run := lab.Start("")
		run.Until("it is ready", func(agenttest.Look) bool { return run.Ready() })
		for i, prompt := range prompts {
			spec := lab.Spec
			spec.PromptVia = agent.ViaPaste
			run.Type(agent.For(spec).Start(session.StartInput{Prompt: prompt}).Paste, turns(i+1))
			isText(lab, i+1, prompt)
		}
	})
	for _, prompt := range prompts[:3] {
		t.Run(prompt[:2], func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "claude")
			lab.Start(prompt).Until("a turn", turns(1))
			isText(lab, 1, prompt)
		})
	}
}

// isText sees to it that the model was asked so often, last with a prompt, and no
// shell was run.
func isText(lab *agenttest.Lab, requests int, prompt string) {
	asked := lab.Model.Turns()
	if last := asked[len(asked)-1].Prompt(); len(asked) != requests || strings.TrimSpace(last) != prompt {
		lab.Moved("a prompt is text, whatever it begins with", "%d requests, the last with %q", len(asked), last)
	}
	if _, err := os.Stat(filepath.Join(lab.Dir, "made")); err == nil {
		lab.Moved("a prompt with ! runs no shell", "it did")
	}
}

// TestClaudeKeepsItsSession checks that the left arrow in an empty composer, at rest and at
// work, gives the session to no other process.
func TestClaudeKeepsItsSession(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "claude")
	run := lab.Start("first [[text One.]]")
	run.Until("a turn", turns(1))
	process := run.Process()
	for n := 2; n <= 3; n++ {
		run.Keys("Left")
		run.Type(fmt.Sprintf("turn %d [[delay 3s]] [[text More.]]", n), func(l agenttest.Look) bool { return l.Detection.Activity == session.Working })
		run.Keys("Left")
		run.Until("a turn more", turns(n))
		if look := run.Look(); run.Process() != process || exited(look) {
			t.Fatalf("it is %+v, not %+v, and shows\n%s", run.Process(), process, look.Screen)
		}
	}
	if asked := len(lab.Model.Turns()); asked != 3 {
		t.Errorf("%d turns, want 3", asked)
	}
	run.Close()
	lab.UntilNone()
}
