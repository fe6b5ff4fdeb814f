package activity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// TestAnswer checks the state of the answer to the last message: only a turn that ended after the
// agent took the message up is an answer.
func TestAnswer(t *testing.T) {
	start := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	n := func(turn int, does session.Activity, told ...session.Message) *session.Transcript {
		return &session.Transcript{StartedAt: at(0), At: at(turn), TurnAt: at(turn), Turns: 1, Activity: does, Messages: told}
	}
	one, two := session.Message{At: at(1), Text: "one"}, session.Message{At: at(12), Text: "two"}
	hook := func(seconds int, event, prompt string) session.Signal {
		return session.Signal{At: at(seconds), Data: []byte(`{"hook_event_name":"` + event + `","prompt":"` + prompt + `"}`)}
	}
	idle := session.Idle
	for name, c := range map[string]struct {
		sent       []typed
		transcript *session.Transcript
		signals    []session.Signal
		want       turn.Answer
	}{
		"nothing was sent":          {nil, n(10, idle, one), nil, turn.Unknown},
		"it waits":                  {[]typed{{At: at(5)}}, n(10, idle, one), nil, turn.Awaited},
		"it was taken up":           {[]typed{{At: at(5)}}, n(10, "", one, two), nil, turn.Awaited},
		"it was answered":           {[]typed{{At: at(5)}}, n(20, idle, one, two), nil, turn.Given},
		"its turn has failed":       {[]typed{{At: at(5)}}, &session.Transcript{At: at(13), TurnAt: at(10), Activity: session.Failed, Messages: []session.Message{one, two}}, nil, turn.Given},
		"joined with another":       {[]typed{{At: at(5)}}, n(20, idle, session.Message{At: at(12), Text: "and so\n\ntwo"}), nil, turn.Given},
		"the same was told before":  {[]typed{{At: at(5)}}, n(20, idle, session.Message{At: at(1), Text: "two"}), nil, turn.Awaited},
		"a person told another":     {[]typed{{At: at(5)}}, n(20, idle, one, two, session.Message{At: at(19), Text: "three"}), nil, turn.Given},
		"another was taken up":      {[]typed{{At: at(5)}}, n(20, idle, session.Message{At: at(6), Text: "one"}), nil, turn.Awaited},
		"the first of two the same": {[]typed{{At: at(4)}, {At: at(5), Again: 1}}, n(20, idle, two), nil, turn.Awaited},
		"both of two the same":      {[]typed{{At: at(4)}, {At: at(5), Again: 1}}, n(20, idle, two, two), nil, turn.Given},
		"no file and no hooks":      {[]typed{{At: at(5)}}, nil, nil, turn.Unknown},
		"it is the first, by hooks": {[]typed{{At: at(5)}}, nil, []session.Signal{hook(1, "SessionStart", "")}, turn.Awaited},
		"it waits, by hooks":        {[]typed{{At: at(5)}}, nil, []session.Signal{hook(1, "UserPromptSubmit", "one"), hook(10, "Stop", "")}, turn.Awaited},
		"it was taken up, by hooks": {[]typed{{At: at(5)}}, nil, []session.Signal{hook(1, "UserPromptSubmit", "one"), hook(10, "Stop", ""), hook(12, "UserPromptSubmit", "two")}, turn.Awaited},
		"it was answered, by hooks": {[]typed{{At: at(5)}}, nil, []session.Signal{hook(12, "UserPromptSubmit", "two"), hook(15, "Stop", "")}, turn.Given},
	} {
		dir := t.TempDir()
		r := New(dir, "/none", agent.For)
		for _, s := range c.sent {
			s.Message = true
			if err := note(filepath.Join(dir, "runs", "run1"), "two", s); err != nil {
				t.Fatal(err)
			}
		}
		rec := session.Record{Run: session.Run{ID: "run1", StartedAt: start}, Spec: session.Spec{Agent: agent.Builtins()["claude"]}}
		for range 2 { // later looks remember what was taken up
			if got := r.lastAnswer(r.Agent(rec), rec, c.transcript, c.signals); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}

// TestAnswerToThePrompt checks that the prompt of a command line is awaited as well, but only in
// its own run.
func TestAnswerToThePrompt(t *testing.T) {
	start := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	answered := &session.Transcript{TurnAt: start.Add(time.Minute), Messages: []session.Message{{At: start.Add(time.Second), Text: "Build it."}}}
	for name, c := range map[string]struct {
		prompt     string
		delivered  time.Time
		transcript *session.Transcript
		want       turn.Answer
	}{
		"it boots":             {"Build it.", start, &session.Transcript{}, turn.Awaited},
		"it has answered":      {"Build it.", start, answered, turn.Given},
		"given to another run": {"Build it.", start.Add(-time.Hour), &session.Transcript{}, turn.Unknown},
		"not given":            {"Build it.", time.Time{}, &session.Transcript{}, turn.Unknown},
		"there is none":        {"", start, &session.Transcript{}, turn.Unknown},
	} {
		r := New(t.TempDir(), "/none", agent.For)
		rec := session.Record{Run: session.Run{ID: "run1", StartedAt: start, DeliveredAt: c.delivered}, Spec: session.Spec{Agent: agent.Builtins()["claude"], Prompt: session.Prompt{Text: c.prompt}}}
		if got := r.lastAnswer(r.Agent(rec), rec, c.transcript, nil); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestUnprompted checks that a run's prompt counts as not taken up until the agent reports it.
func TestUnprompted(t *testing.T) {
	now := time.Now()
	taken := session.Message{At: now, Text: "Build it."}
	for name, c := range map[string]struct {
		agent, prompt    string
		started, given   time.Time
		told             []session.Message
		hook             string
		sent, unprompted bool
	}{
		"it boots":              {agent: "claude", prompt: "Build it.", started: now, given: now, unprompted: true},
		"it has taken it up":    {agent: "claude", prompt: "Build it.", started: now, given: now, told: []session.Message{taken}},
		"it tells another":      {agent: "claude", prompt: "Build it.", started: now, given: now, told: []session.Message{{At: now, Text: "Stop."}}, unprompted: true},
		"its file was cleared":  {agent: "claude", prompt: "Build it.", started: now, given: now, hook: `{"hook_event_name":"UserPromptSubmit","prompt":"Build it."}`},
		"it was sent more":      {agent: "claude", prompt: "Build it.", started: now, given: now, sent: true},
		"long ago":              {agent: "claude", prompt: "Build it.", started: now.Add(-time.Hour), given: now.Add(-time.Hour), unprompted: true},
		"given to another run":  {agent: "claude", prompt: "Build it.", started: now, given: now.Add(-time.Hour)},
		"there is none":         {agent: "claude", started: now},
		"an agent of one's own": {prompt: "Build it.", started: now, given: now},
	} {
		dir := t.TempDir()
		r := New(dir, "/none", agent.For)
		if c.sent {
			if err := note(filepath.Join(dir, "runs", "run1"), "more", typed{At: now, Message: true}); err != nil {
				t.Fatal(err)
			}
		}
		if c.hook != "" {
			run := filepath.Join(dir, "runs", "run1")
			line := fmt.Sprintf("{\"at\":%q,\"data\":%s}\n", now.Format(time.RFC3339Nano), c.hook)
			if err := errors.Join(os.MkdirAll(run, 0o700), os.WriteFile(filepath.Join(run, "signals.jsonl"), []byte(line), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		rec := session.Record{
			Run:  session.Run{ID: "run1", StartedAt: c.started, DeliveredAt: c.given},
			Spec: session.Spec{Agent: agent.Complete(session.AgentSpec{Name: "x", Base: c.agent, Command: []string{"x"}}), Prompt: session.Prompt{Text: c.prompt}},
		}
		var want time.Time
		if c.unprompted {
			want = c.started.Add(promptTimeout)
		}
		if got := r.Snapshot(rec, &session.Live{}, Look{Transcript: &session.Transcript{Messages: c.told}}).PromptBy; !got.Equal(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestSnapshotOfOneThatWasKilled checks that the last typed text is recognized as unsent.
func TestSnapshotOfOneThatWasKilled(t *testing.T) {
	r := New(t.TempDir(), "/none", agent.For)
	rec := session.Record{Run: session.Run{ID: "run1"}, Spec: session.Spec{Agent: session.AgentSpec{Name: "x", Command: []string{"x"}}}}
	for _, text := range []string{"fix it", "and test it"} {
		if err := r.Note("run1", text, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for screen, want := range map[string]bool{"> and test it": true, "> fix it": false, "> and test it\nworking": false, "": false} {
		if got := r.Snapshot(rec, &session.Live{Screen: screen}, Look{}).Unsent; got != want {
			t.Errorf("screen %q: unsent %v", screen, got)
		}
	}
}

// TestSendingTheSameAgain checks that a message is distinguished from an equal queued one.
func TestSendingTheSameAgain(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	r := New(dir, home, agent.For)
	rec := session.Record{
		Run:  session.Run{ID: "run1", Conversation: "c1", StartedAt: time.Now()},
		Spec: session.Spec{Agent: agent.Builtins()["claude"]}, Tree: session.WorkspaceState{Path: "/work/x"},
	}
	tell := func(text string) {
		line := `{"type":"user","sessionId":"c1","timestamp":"` + time.Now().UTC().Format(time.RFC3339Nano) + `","message":{"content":"` + text + `"}}` + "\n"
		path := filepath.Join(home, ".claude", "projects", "-work-x", "c1.jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(line)
		}
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		sent, told string
		again      int
	}{
		{told: "begin"}, {sent: "go on", again: 0}, {sent: "go on", again: 1}, {told: "go on"}, {sent: "go on", again: 1}, {told: "go on"}, {told: "go on"},
		{sent: "go on", again: 0}, {sent: "stop", again: 0}, {sent: "/compact", again: 0},
	} {
		if step.told != "" {
			tell(step.told)
			continue
		}
		if err := r.Sending(rec, step.sent, step.sent != "/compact", time.Now()); err != nil {
			t.Fatal(err)
		}
		all := readTyped(filepath.Join(dir, "runs", "run1", typedFile))
		if last := all[len(all)-1]; last.Again != step.again || last.Message != (step.sent != "/compact") {
			t.Errorf("%s: %d wait before it, message %v", step.sent, last.Again, last.Message)
		}
	}
}
