package activity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// A typed text is no sign of its outcome, however a terminal shows it: the prompt, as recorded or
// stored, and sent texts.
func TestTheEchoOfWhatWasTyped(t *testing.T) {
	const prompt, sent = "Fix the fatal error in main.c, see https://x.org/o/r/pull/7", "write what a user sees who says goodbye"
	dir := t.TempDir()
	digest, err := state.Blobs{Dir: filepath.Join(dir, "blobs")}.Put(prompt)
	if err != nil {
		t.Fatal(err)
	}
	rec := record(session.AgentSpec{Name: "x", Command: []string{"x"}})
	rec.Spec.Prompt = session.Prompt{Digest: digest}
	look := func(screen string) activity.Look {
		l := live(screen)
		l.MovedAt = noon
		return activity.New(dir, "/none", agent.For).Read(rec, l, noon, at(time.Minute))
	}
	if got := look("> Fix the fatal error in main.c, see htt\n  ps://x.org/o/r/pull/7\n"); got.Activity != session.NoActivity || got.Detection.PR != "" {
		t.Errorf("its prompt: %+v", got.Detection)
	}
	if got := look("> Fix the fatal error in main.c\nfatal error: no rule\n"); got.Activity != session.Failed {
		t.Errorf("its own words: %+v", got.Detection)
	}
	shows := "> write what a user sees who says good\nbye\n"
	if got := look(shows + "> " + sent + "\n"); got.Activity != session.Done {
		t.Errorf("what nobody sent: %+v", got.Detection)
	}
	if err := activity.New(dir, "/none", agent.For).Note("run1", sent, noon); err != nil {
		t.Fatal(err)
	}
	if got := look(shows + "> " + sent + "\n"); got.Activity != session.NoActivity {
		t.Errorf("what was sent: %+v", got.Detection)
	}
	file, err := os.ReadFile(filepath.Join(dir, "runs", "run1", "typed.jsonl"))
	if err != nil || strings.Contains(string(file), "goodbye") {
		t.Errorf("what is kept of it: %s, %v", file, err)
	}
}

// Output of a custom agent above the last text sent to it belongs to an earlier turn.
func TestWhatWasSentBeginsATurn(t *testing.T) {
	dir := t.TempDir()
	rec := record(session.AgentSpec{Name: "x", Command: []string{"x"}})
	look := func(screen string) session.Activity {
		l := live(screen)
		l.MovedAt = noon
		return activity.New(dir, "/none", agent.For).Read(rec, l, noon, at(time.Minute)).Detection.Activity
	}
	for _, text := range []string{"the first thing to do", "the second thing to do, on two rows"} {
		if err := activity.New(dir, "/none", agent.For).Note("run1", text, noon); err != nil {
			t.Fatal(err)
		}
	}
	const before = "the first thing to do\nrate limit exceeded\n"
	for screen, want := range map[string]session.Activity{
		before: session.BlockedAPI,
		before + "the second thing to do, on\n two rows\n":                          session.BlockedAPI, // without an outcome yet
		before + "the second thing to do, on\n two rows\nAll is fine.\n":            session.NoActivity,
		before + "the second thing to do, on\n two rows\nFatal error: it broke\n":   session.Failed,
		before + "what of the second thing to do, on two rows?\nAll is not fine.\n": session.BlockedAPI, // the agent's own words
	} {
		if got := look(screen); got != want {
			t.Errorf("%q: %s, want %s", screen, got, want)
		}
	}
}

// A run that resumes a conversation without a prompt shows the past.
func TestWhatAResumedRunShows(t *testing.T) {
	const screen = "› go\n\n■ exceeded retry limit, last status: 429\n\n› Ask Codex to do anything\n\n  gpt-5 default · /work\n"
	rec := record(agent.Builtins()["codex"])
	rec.Run.Number, rec.Run.Conversation, rec.Run.DeliveredAt = 2, "c1", at(-time.Hour)
	for name, c := range map[string]struct {
		change func(*session.Record)
		given  time.Time
		want   session.Activity
	}{
		"it was given nothing":           {func(*session.Record) {}, at(-time.Hour), session.Idle},
		"it was given something":         {func(*session.Record) {}, at(time.Second), session.BlockedAPI},
		"its first run":                  {func(r *session.Record) { r.Run.Number = 1 }, at(-time.Hour), session.BlockedAPI},
		"its first, of a conversation":   {func(r *session.Record) { r.Run.Number, r.Spec.Conversation.ID = 1, "c1" }, time.Time{}, session.Idle},
		"it begins without conversation": {func(r *session.Record) { r.Run.Conversation = "" }, at(-time.Hour), session.BlockedAPI},
	} {
		r := rec
		c.change(&r)
		l := live(screen)
		l.Title = "Ready | work"
		if got := activity.New(t.TempDir(), "/none", agent.For).Read(r, l, c.given, at(time.Minute)); got.Detection.Activity != c.want {
			t.Errorf("%s: %+v, want %s", name, got.Detection, c.want)
		}
	}
}

// A reader's first look reports what a screen has shown for a while.
func TestTellAtTheFirstLook(t *testing.T) {
	rec := record(agentOf(agent.AtStart))
	for _, c := range []struct {
		quiet time.Duration
		want  int
	}{{time.Second, 0}, {2 * time.Second, 1}, {time.Hour, 1}} {
		x := activity.Seen{Record: rec, Status: session.StatusFailed, At: at(time.Hour), MovedAt: at(time.Hour - c.quiet),
			Look: activity.Look{Detection: session.Detection{Activity: session.Failed, Source: agent.FromScreen}}}
		told, err := activity.New(t.TempDir(), "/none", agent.For).Tell(t.TempDir(), x, []history.Event{})
		if err != nil || len(told) != c.want {
			t.Errorf("quiet for %s: told %d, %v", c.quiet, len(told), err)
		}
	}
}
