package activity_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	_ "github.com/agentform/agentform/internal/test/seed"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

// agentOf returns an agent of each kind of observability, with a known screen.
func agentOf(observable string) session.AgentSpec {
	s := session.AgentSpec{
		Name: "x", Command: []string{"x"}, Ready: "^> ?$", Observable: observable,
		ReadyTimeout: session.Duration(30 * time.Second), UnobservedFor: session.Duration(24 * time.Hour),
	}
	s.Patterns.Working = []string{"busy"}
	return s
}

func kinds() []string { return []string{agent.AtStart, agent.AtFirstPrompt, agent.AfterFirstTurn} }

// record returns a session that was started at noon.
func record(s session.AgentSpec) session.Record {
	return session.Record{ID: "x-1", Address: "session.x", Spec: session.Spec{Address: "session.x", Agent: s},
		Run: session.Run{ID: "run1", StartedAt: noon}, Tree: session.WorkspaceState{Path: "/work/x"}}
}

func live(screen string) *session.Live {
	return &session.Live{Liveness: session.Alive, PlaceUp: true, Screen: screen}
}

func TestUnobserved(t *testing.T) {
	given := at(time.Second)
	for name, c := range map[string]struct {
		kind   string
		given  time.Time
		screen string
		want   session.Activity
		shows  bool
	}{
		"at start, rests":                    {agent.AtStart, time.Time{}, "> ", session.Idle, true},
		"at its first prompt, without one":   {agent.AtFirstPrompt, time.Time{}, "> ", session.Unobserved, false},
		"at its first prompt, given one":     {agent.AtFirstPrompt, given, "> ", session.Idle, true},
		"after its first turn, without one":  {agent.AfterFirstTurn, given, "> ", session.Unobserved, false},
		"after its first turn, at work":      {agent.AfterFirstTurn, given, "busy", session.Working, false},
		"after its first turn, cannot tell":  {agent.AfterFirstTurn, given, "what is this", session.Unobserved, false},
		"after its first turn, of no screen": {agent.AfterFirstTurn, given, "", session.Unobserved, false},
	} {
		got := activity.New(t.TempDir(), "/none", agent.For).Read(record(agentOf(c.kind)), live(c.screen), c.given, at(time.Minute))
		if got.Activity != c.want || got.Observable != c.shows {
			t.Errorf("%s: %s, observable %v; want %s, %v", name, got.Activity, got.Observable, c.want, c.shows)
		}
	}
}

// Whatever an agent of any kind shows before it can be observed, it is not reported as idle, as
// done with a turn or, while it is running, as exited because a file is missing.
func TestAnUnobservedSessionIsNeitherIdleNorDead(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		spec := agentOf(rapid.SampledFrom(kinds()).Draw(t, "kind"))
		screen := rapid.SampledFrom([]string{"", "> ", "busy", "what is this", "hello\n> "}).Draw(t, "screen")
		given := time.Time{}
		if rapid.Bool().Draw(t, "given") {
			given = at(time.Duration(rapid.IntRange(0, 100).Draw(t, "given after")) * time.Second)
		}
		now := at(time.Duration(rapid.IntRange(0, 72*3600).Draw(t, "now")) * time.Second)
		got := activity.New(dir, "/none", agent.For).Read(record(spec), live(screen), given, now)
		if got.Observable {
			return
		}
		switch got.Activity {
		case session.Unobserved, session.Working, session.Booting:
		default:
			t.Fatalf("it is told to be %s", got.Activity)
		}
		if !got.TurnAt.IsZero() || !got.FirstTurnAt.IsZero() {
			t.Fatalf("a turn has ended: %+v", got)
		}
		if late := now.Sub(later(given, noon)) > 24*time.Hour; got.Overdue != (late && !given.IsZero() && spec.Observable == agent.AfterFirstTurn) {
			t.Fatalf("overdue is %v after %s", got.Overdue, now.Sub(noon))
		}
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// An agent is starting until it was observed ready once, which is reported once.
func TestStarting(t *testing.T) {
	folder := t.TempDir()
	rec := record(agentOf(agent.AtStart))
	for i, c := range []struct {
		screen   string
		after    time.Duration
		does     session.Activity
		starting bool
		told     string
	}{
		{"", time.Second, session.Booting, true, ""},
		{"loading", 2 * time.Second, session.Booting, true, ""},
		{"loading", 31 * time.Second, session.NoActivity, true, ""},
		{"", 32 * time.Second, session.Booting, true, ""},
		{"> ", 33 * time.Second, session.Idle, false, "ready"},
		{"what is this", 34 * time.Second, session.NoActivity, false, ""},
		{"what is this", 3 * time.Second, session.NoActivity, false, ""},
	} {
		past, err := history.Read(folder, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		r := activity.New(t.TempDir(), "/none", agent.For) // each is another process
		l := live("")
		l.Show(c.screen)
		x := r.Look(rec, l, past, at(c.after))
		told, err := r.Tell(folder, activity.Seen{Record: rec, Status: session.StatusRunning, Look: x, At: at(c.after)}, past)
		if err != nil {
			t.Fatal(err)
		}
		kinds := ""
		for _, e := range told {
			kinds += string(e.Kind)
		}
		if x.Activity != c.does || x.Starting != c.starting || kinds != c.told {
			t.Errorf("look %d: %s, starting %v, told %q; want %s, %v, %q", i, x.Activity, x.Starting, kinds, c.does, c.starting, c.told)
		}
	}
	rec.Run.ReadyAt = at(time.Second)
	if x := activity.New(t.TempDir(), "/none", agent.For).Look(rec, live("what is this"), nil, at(time.Minute)); x.Starting {
		t.Error("it is on record that it was ready")
	}
}

// TestStartingByTheTitle checks that an agent is booting while only its title shows rest.
func TestStartingByTheTitle(t *testing.T) {
	rec, l := record(agent.Builtins()["claude"]), live("")
	l.Title = "✳ Claude Code"
	l.Show("")
	if x := activity.New(t.TempDir(), "/none", agent.For).Look(rec, l, nil, at(time.Second)); x.Activity != session.Booting || !x.Starting {
		t.Errorf("%s, starting %v", x.Activity, x.Starting)
	}
}

// TestStartingWithAPrompt checks that an agent that shows its composer is booting until it takes up
// the prompt of its command line, if its hooks report that.
func TestStartingWithAPrompt(t *testing.T) {
	for name, c := range map[string]struct {
		prompt string
		hooks  []string
		after  time.Duration
		want   session.Activity
	}{
		"it is not taken up":          {"Build it.", []string{`{"hook_event_name":"SessionStart"}`}, 3 * time.Second, session.Booting},
		"it is not taken up for long": {"Build it.", []string{`{"hook_event_name":"SessionStart"}`}, time.Hour, session.Idle},
		"it was taken up":             {"Build it.", []string{`{"hook_event_name":"SessionStart"}`, `{"hook_event_name":"UserPromptSubmit","prompt":"Build it."}`}, 3 * time.Second, session.Working},
		"its turn has ended":          {"Build it.", []string{`{"hook_event_name":"SessionStart"}`, `{"hook_event_name":"UserPromptSubmit","prompt":"Build it."}`, `{"hook_event_name":"Stop"}`}, 3 * time.Second, session.Idle},
		"another was taken up":        {"Build it.", []string{`{"hook_event_name":"SessionStart"}`, `{"hook_event_name":"UserPromptSubmit","prompt":"Stop."}`, `{"hook_event_name":"Stop"}`}, 3 * time.Second, session.Idle},
		"none":                        {"", []string{`{"hook_event_name":"SessionStart"}`}, 3 * time.Second, session.Unobserved},
		"no hook":                     {"Build it.", nil, 3 * time.Second, session.Idle},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, data := range c.hooks {
				hear(t, dir, at(2*time.Second), data)
			}
			rec := record(agent.Builtins()["claude"])
			given := time.Time{}
			if c.prompt != "" {
				rec.Spec.Prompt = session.Prompt{Text: c.prompt}
				rec.Run.DeliveredAt, given = noon, noon
			}
			rec.Run.ReadyAt = at(time.Second)
			l := live("")
			l.Title = "✳ Claude Code"
			if x := activity.New(dir, "/none", agent.For).Read(rec, l, given, at(c.after)); x.Activity != c.want || x.Starting {
				t.Errorf("%s, starting %v; want %s", x.Activity, x.Starting, c.want)
			}
		})
	}
}

// An agent observed at work and then at rest, twice, has had a turn, even if it keeps no file.
func TestAFirstTurnThatIsSeen(t *testing.T) {
	r := activity.New(t.TempDir(), "/none", agent.For)
	rec := record(agentOf(agent.AfterFirstTurn))
	var got []string
	for i, screen := range []string{"> ", "> ", "busy", "> ", "busy", "> ", "> ", "> "} {
		x := r.Read(rec, live(screen), at(1), at(time.Duration(i)*time.Second))
		got = append(got, string(x.Activity))
	}
	want := []string{"unobserved", "unobserved", "working", "unobserved", "working", "unobserved", "idle", "idle"}
	if !slices.Equal(got, want) {
		t.Errorf("it did %q, want %q", got, want)
	}
}

// A turn that a restart cut off has not ended, though the resumed agent rests.
func TestATurnThatWasCutOff(t *testing.T) {
	before, since := at(-time.Hour), at(time.Second)
	kept := &session.Transcript{Turns: 1, StartedAt: before, Activity: session.Idle, At: at(-time.Minute), TurnAt: at(-time.Minute), Interrupted: true}
	for name, c := range map[string]struct {
		prompted   time.Time
		transcript *session.Transcript
		past       []history.Event
		ended      bool
	}{
		"its prompt was given in this run":     {since, nil, nil, true},
		"resumed":                              {before, nil, nil, false},
		"resumed, its file has the cut":        {before, kept, nil, false},
		"resumed, and it was sent something":   {before, nil, []history.Event{{Kind: history.Sent, Run: "run1", Time: since}}, true},
		"resumed, and it had ended one before": {before, nil, []history.Event{{Kind: history.FirstTurnDone, Run: "run0", Time: at(-time.Minute)}}, true},
	} {
		rec := record(agentOf(agent.AtStart))
		rec.Run.DeliveredAt = c.prompted
		look := activity.Look{Activity: session.Idle, Detection: session.Detection{Activity: session.Idle, Source: agent.FromScreen}, Transcript: c.transcript}
		if c.transcript != nil {
			look.TurnAt = c.transcript.TurnAt
		}
		course := turn.Once(activity.TurnLook(rec, look, true, at(2*time.Second), c.past, at(time.Minute)))
		if got := activity.DoingOf(course, rec, look, c.past); got.Turn != c.ended {
			t.Errorf("%s: a turn has ended: %v, want %v", name, got.Turn, c.ended)
		}
	}
}

func TestHooks(t *testing.T) {
	dir := t.TempDir()
	r := activity.New(dir, "/none", agent.For)
	rec := record(agent.Builtins()["codex"])
	before := r.Heard([]string{"run1"})
	hear(t, dir, at(time.Second), `{"hook_event_name":"UserPromptSubmit"}`)
	if r.Heard([]string{"run1"}) == before {
		t.Error("nobody was told of a hook")
	}
	x := r.Read(rec, live(""), at(1), at(2*time.Second))
	if x.Activity != session.Working || x.Detection.Source != agent.FromHook || !x.TurnAt.IsZero() || !x.FirstTurnAt.IsZero() {
		t.Errorf("at work: %+v", x)
	}
	hear(t, dir, at(3*time.Second), `{"hook_event_name":"Stop"}`)
	x = r.Read(rec, live(""), at(1), at(4*time.Second))
	if x.Activity != session.Idle || !x.TurnAt.Equal(at(3*time.Second)) || !x.FirstTurnAt.Equal(at(3*time.Second)) || !x.Observable {
		t.Errorf("its turn has ended: %+v", x)
	}
	// No hook reports the end of an interrupted turn, but the file does.
	hear(t, dir, at(5*time.Second), `{"hook_event_name":"UserPromptSubmit"}`)
	if x = r.Read(rec, live(""), at(1), at(6*time.Second)); !x.TurnAt.IsZero() || !x.FirstTurnAt.Equal(at(3*time.Second)) {
		t.Errorf("at work again: %+v", x)
	}
}

// Rest before any work is not a turn.
func TestBootingIsNoTurn(t *testing.T) {
	dir := t.TempDir()
	r := activity.New(dir, "/none", agent.For)
	rec := record(agent.Builtins()["claude"])
	hear(t, dir, at(time.Second), `{"hook_event_name":"SessionStart"}`)
	if x := r.Read(rec, live(""), noon, at(2*time.Second)); !x.TurnAt.IsZero() || !x.FirstTurnAt.IsZero() {
		t.Errorf("a turn has ended: %+v", x)
	}
	hear(t, dir, at(2*time.Second), `{"hook_event_name":"UserPromptSubmit"}`)
	for range 2 {
		if x := r.Read(rec, live(""), noon, at(3*time.Second)); !x.TurnAt.IsZero() || !x.FirstTurnAt.IsZero() {
			t.Errorf("it works, and a turn has ended: %+v", x)
		}
	}
	hear(t, dir, at(2500*time.Millisecond), `{"hook_event_name":"StopFailure","error":"server_error"}`)
	if x := r.Read(rec, live(""), noon, at(3*time.Second)); x.Activity != session.Failed || !x.FirstTurnAt.IsZero() {
		t.Errorf("it failed: %+v", x)
	}
	hear(t, dir, at(3*time.Second), `{"hook_event_name":"UserPromptSubmit"}`)
	hear(t, dir, at(3*time.Second), `{"hook_event_name":"Stop"}`)
	hear(t, dir, at(63*time.Second), `{"hook_event_name":"Notification","notification_type":"idle_prompt"}`)
	if x := r.Read(rec, live(""), noon, at(64*time.Second)); !x.TurnAt.Equal(at(3 * time.Second)) {
		t.Errorf("the turn ended at %v", x.TurnAt)
	}
}

// hear writes the report of a hook of run1.
func hear(t *testing.T, dir string, when time.Time, data string) {
	t.Helper()
	folder := filepath.Join(dir, "runs", "run1")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(map[string]any{"at": when, "data": json.RawMessage(data)})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(folder, "signals.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}

func TestChanges(t *testing.T) {
	transcript := &session.Transcript{Conversation: "c1", Path: "/home/x/c1.jsonl", Prompts: 1}
	var told []history.Event
	for i, c := range []struct {
		status session.Status
		look   activity.Look
		want   string
	}{
		{session.StatusBooting, activity.Look{}, ""},
		{session.StatusRunning, activity.Look{}, ""},
		{session.StatusRunning, activity.Look{Transcript: &session.Transcript{Conversation: "c1", Path: "/home/x/state"}}, ""},
		{session.StatusRunning, activity.Look{Transcript: transcript}, "observable  c1"},
		{session.StatusBlocked, activity.Look{Transcript: transcript, Detection: session.Detection{Detail: "May I?"}}, "status_changed running blocked"},
		{session.StatusBlocked, activity.Look{Transcript: transcript}, ""},
		{session.StatusRunning, activity.Look{Transcript: transcript, FirstTurnAt: at(4 * time.Second)}, "first_turn_done  , status_changed blocked running"},
		{session.StatusRunning, activity.Look{Transcript: transcript, FirstTurnAt: at(4 * time.Second), Detection: session.Detection{PR: "https://x/pull/1"}}, "pr_detected  https://x/pull/1"},
		{session.StatusRunning, activity.Look{Detection: session.Detection{PR: "https://x/pull/1"}}, ""},
		{session.StatusRunning, activity.Look{Detection: session.Detection{PR: "https://x/pull/2"}}, "pr_detected  https://x/pull/2"},
		{session.StatusExited, activity.Look{}, "status_changed running exited"},
		{session.StatusStopped, activity.Look{}, ""},
	} {
		rec := record(agentOf(agent.AtStart))
		events := activity.Changes(activity.Seen{Record: rec, Status: c.status, Look: c.look, Screen: "screen", At: at(time.Duration(i) * time.Minute)}, told)
		var got []string
		for _, e := range events {
			got = append(got, fmt.Sprintf("%s %s %s", e.Kind, e.Old, e.New))
			if e.Address != rec.Address || e.Run != "run1" || e.ID != "x-1" || e.Time.IsZero() || (e.Kind == history.StatusChanged) != (e.Excerpt != "") {
				t.Errorf("%+v", e)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("look %d tells %q, want %q", i, got, c.want)
		}
		told = append(told, events...)
	}
	if at := activity.FirstTurnAt(record(agentOf("")), told); !at.Equal(noon.Add(4 * time.Second)) {
		t.Errorf("the first turn ended at %v", at)
	}
	if urls := activity.Requests(told); !slices.Equal(urls, []string{"https://x/pull/1", "https://x/pull/2"}) {
		t.Errorf("requests %q", urls)
	}
	// A new run starts over: that it is running is not a change.
	rec := record(agentOf(agent.AtStart))
	rec.Run.ID = "run2"
	if events := activity.Changes(activity.Seen{Record: rec, Status: session.StatusRunning, At: noon}, told); len(events) != 0 {
		t.Errorf("a new run tells %+v", events)
	}
}

// A status that only a screen shows is reported once it has lasted; with any other signal, or any
// other change, it is reported at once.
func TestTell(t *testing.T) {
	folder := t.TempDir()
	r := activity.New(t.TempDir(), "/none", agent.For)
	rec := record(agentOf(agent.AtStart))
	tell := func(s session.Status, source string, when time.Duration) int {
		t.Helper()
		past, err := history.Read(folder, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		told, err := r.Tell(folder, activity.Seen{Record: rec, Status: s, Look: activity.Look{Detection: session.Detection{Source: source}}, At: at(when)}, past)
		if err != nil {
			t.Fatal(err)
		}
		return len(told)
	}
	for i, c := range []struct {
		status session.Status
		source string
		after  time.Duration
		want   int
	}{
		{session.StatusBlocked, agent.FromScreen, 0, 0},
		{session.StatusBlocked, agent.FromScreen, 100 * time.Millisecond, 0},
		{session.StatusBlocked, agent.FromScreen, 300 * time.Millisecond, 1},
		{session.StatusBlocked, agent.FromScreen, 600 * time.Millisecond, 0},
		{session.StatusRunning, agent.FromHook, 700 * time.Millisecond, 1},
		{session.StatusFailed, agent.FromScreen, 800 * time.Millisecond, 0},
		{session.StatusRunning, agent.FromScreen, 900 * time.Millisecond, 0},
	} {
		if got := tell(c.status, c.source, c.after); got != c.want {
			t.Errorf("look %d told %d events, want %d", i, got, c.want)
		}
	}
	rec.Intent = session.Restarting
	if tell(session.StatusExited, agent.FromExit, time.Second) != 0 {
		t.Error("told while a restart is under way")
	}
}

// A question that follows another one at once, after an answer, is reported once, and not again
// when it is only worded differently.
func TestNextQuestionIsTold(t *testing.T) {
	rec := record(agentOf(agent.AtStart))
	asks := func(text string) activity.Seen {
		q := &session.Question{ID: text, Text: text}
		return activity.Seen{Record: rec, Status: session.StatusBlocked, At: at(time.Minute),
			Look: activity.Look{Detection: session.Detection{Activity: session.Blocked, Detail: text, Question: q, Source: agent.FromHook}}}
	}
	blocked := history.Event{Run: rec.Run.ID, Kind: history.StatusChanged, Old: "running", New: "blocked", Detail: "first"}
	sent := history.Event{Run: rec.Run.ID, Kind: history.Sent}
	for i, c := range []struct {
		past []history.Event
		now  string
		want int
	}{
		{[]history.Event{blocked}, "first", 0}, {[]history.Event{blocked}, "second", 0},
		{[]history.Event{blocked, sent}, "first", 0}, {[]history.Event{blocked, sent}, "second", 1},
	} {
		if got := activity.Changes(asks(c.now), c.past); len(got) != c.want {
			t.Errorf("%d: %d events, want %d: %+v", i, len(got), c.want, got)
		} else if c.want > 0 && (got[0].Question == nil || got[0].Question.ID != c.now) {
			t.Errorf("%d: the question is %+v, want %q", i, got[0].Question, c.now)
		}
	}
}

// The history has the end of the first turn.
func TestTheHistoryKnowsOfTheFirstTurn(t *testing.T) {
	rec := record(agentOf(agent.AfterFirstTurn))
	past := []history.Event{
		{Kind: history.Sent, Time: at(time.Second)},
		{Kind: history.FirstTurnDone, Run: "run1", Time: at(time.Minute), Elapsed: session.Duration(5 * time.Second)},
	}
	x := activity.New(t.TempDir(), "/none", agent.For).Look(rec, live("> "), past, at(48*time.Hour))
	if !x.Observable || x.Activity != session.Idle || !x.FirstTurnAt.Equal(at(5*time.Second)) || x.Overdue {
		t.Errorf("%+v", x)
	}
	rec.Run.ID = "run2"
	if x := activity.New(t.TempDir(), "/none", agent.For).Look(rec, live("> "), past, at(time.Minute)); x.Observable {
		t.Error("the first turn of another run counts")
	}
}
