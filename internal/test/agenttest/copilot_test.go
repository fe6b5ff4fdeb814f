//go:build agents

package agenttest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/session"
)

// rests is a look at a screen without a sign of work, which comes a little after the
// session file's.
func rests(l agenttest.Look) bool { return !shows("Working")(l) && shows("/ commands")(l) }

// interrupt presses Escape twice, until the turn has ended. Copilot waits half a second for
// the second one, and takes two that it reads at once for another key.
func interrupt(r *agenttest.Run) {
	var pressed time.Time
	r.Until("it is interrupted", func(l agenttest.Look) bool {
		if shows("Working")(l) && time.Since(pressed) > 3*time.Second {
			r.Keys("Escape")
			time.Sleep(200 * time.Millisecond)
			r.Keys("Escape")
			pressed = time.Now()
		}
		return l.Transcript != nil && l.Transcript.Activity == session.Idle
	})
}

var copilotSituations = []agenttest.Situation{
	{Name: "booting", Want: session.Booting},
	{Name: "idle", Want: session.Idle, Seen: both(shows("/ commands"), shows("Copilot v"))},
	{Name: "working", Prompt: "wait [[delay 90s]]", Want: session.Working, Seen: both(shows("Working"), says(session.Working))},
	{Name: "queued", Prompt: "wait [[delay 90s]]", Want: session.Working,
		Steps: func(r *agenttest.Run) {
			// Before that both messages would be one.
			r.Until("the model is asked", func(agenttest.Look) bool { return len(r.Lab.Model.Turns()) > 0 })
			r.Type("and then this", shows("[pending"))
		},
		Seen: shows("[pending")},
	{Name: "stalled", Prompt: "wait [[text I begin]] [[stall]]", Want: session.Working, Seen: shows("● I begin")},
	{Name: "approval", Prompt: "make it [[tool bash: touch made]]", Want: session.Blocked, Seen: both(shows("Do you want to run this command?"), says(session.Blocked))},
	{Name: "approval-edit", Prompt: `make it [[tool create {"path":"/tmp/made-by-copilot","file_text":"it"}]]`, Want: session.Blocked, Seen: both(shows("Do you want to"), says(session.Blocked))},
	{Name: "question", Prompt: `ask [[tool ask_user {"message":"Which color?","requestedSchema":{"type":"object","properties":{"color":{"type":"string","enum":["red","blue"]}},"required":["color"]}}]]`, Want: session.Blocked, Seen: both(shows("Which color?"), says(session.Blocked))},
	{Name: "trust-dialog", Before: func(l *agenttest.Lab) { l.Write(".copilot/config.json", `{"appTipShown": true}`) }, Want: session.Blocked,
		Seen: shows("Do you trust the files in this folder?")},
	{Name: "failed-400", Prompt: "go [[status 400]]", Want: session.Failed, Seen: both(shows("✗ 400"), turned, rests)},
	{Name: "failed-401", Prompt: "go [[status 401]]", Want: session.Failed, Seen: both(shows("✗ Authentication failed"), turned, rests)},
	// It tries again for many minutes, and shows and writes nothing of it.
	{Name: "retrying", Prompt: "go [[status 429]]", Want: session.Working, Seen: says(session.Working)},
	{Name: "turn-done", Prompt: "make it [[tool bash: ls]] [[text It is made.]]", Input: permissions("all"), Want: session.Idle,
		Seen: both(shows("● It is made."), turned, rests)},
	{Name: "interrupted", Prompt: "wait [[text I begin]] [[stall]]", Want: session.Idle,
		Steps: func(r *agenttest.Run) {
			r.Until("it works", shows("● I begin"))
			interrupt(r)
		},
		Seen: both(shows("Operation cancelled by user"), says(session.Idle), rests)},
	{Name: "exited", Prompt: "go [[text It is made.]]", Want: session.Exited,
		Steps: func(r *agenttest.Run) {
			r.Until("the turn has ended", turned)
			leave(r)
		},
		Seen: exited},
}

// What it may do unasked.
func TestCopilotPermissions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string
		asks   bool
	}{
		"ask":   {"go [[tool bash: touch made]]", true},
		"edits": {"go [[tool bash: touch made]]", true},
		"all":   {"go [[tool bash: touch made]]", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "copilot")
			run := lab.Start(c.prompt, permissions(name))
			made := filepath.Join(lab.Dir, "made")
			if c.asks {
				look := run.Until("it asks", func(l agenttest.Look) bool { return l.Detection.Activity == session.Blocked })
				if _, err := os.Stat(made); err == nil {
					lab.Moved("it does nothing before it was answered", "%s is there\n%s", made, look.Screen)
				}
				run.Press("1", turns(1))
			}
			run.Until("a turn", turns(1))
			if _, err := os.Stat(made); err != nil {
				lab.Moved("what it may do is done", "%v", err)
			}
		})
	}
}
