package agent

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

var update = flag.Bool("update", false, "write what is read from the captures as what is wanted")

// capture is a real agent's screen, title, hooks and session files in one situation, as recorded by
// `make captures`.
type capture struct {
	agent, situation, version string
	evidence                  session.Evidence
	lines                     [][]byte
}

// TestCaptures compares what each signal of the recorded agents says, alone and together, with
// want.txt. A new case is a directory.
func TestCaptures(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/*/screen.txt")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no captures (%v): make captures", err)
	}
	for _, screen := range dirs {
		dir := filepath.Dir(screen)
		t.Run(strings.TrimPrefix(filepath.ToSlash(dir), "testdata/"), func(t *testing.T) {
			c := load(t, dir)
			got := c.facts()
			file := filepath.Join(dir, "want.txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := factsOf(read(t, file))
			for name, value := range factsOf(got) {
				if value != want[name] {
					t.Errorf("%s %s, when it is in %s: this fact has moved: its %s reads %q, not %q", c.agent, c.version, c.situation, name, value, want[name])
				}
				delete(want, name)
			}
			for name, value := range want {
				t.Errorf("%s %s, when it is in %s: this fact is gone: its %s, %q", c.agent, c.version, c.situation, name, value)
			}
		})
	}
}

// situations lists the situations of each activity. The last hyphen and number of a directory's
// name are a terminal's width.
var situations = map[session.Activity][]string{
	session.Booting: {"booting"},
	session.Idle: {"all-permitted", "answered", "asked-in-text", "draft", "idle", "interrupted", "no-repository", "pasted", "refused",
		"rejected", "resumed", "turn-done", "warnings"},
	session.Working: {"pasted-working", "queued", "retrying", "stalled", "warnings-working", "working"},
	session.Blocked: {"api-key-dialog", "approval", "approval-always", "approval-edit", "approval-wrapped", "approval-wrapped-moved",
		"hooks-dialog", "login-dialog", "login-field", "login-key", "model-dialog", "plan-dialog", "question", "question-several",
		"question-text", "question-two", "trust-dialog"},
	session.BlockedAPI: {"busy", "failed-429", "limit", "limit-dialog"},
	session.Failed:     {"errors", "failed-400", "failed-401", "failed-500", "farewell"},
	session.Exited:     {"all-refused-to-root", "exited", "not-onboarded", "printed"},
}

// misread lists the captures that are read as another activity, with the reason. The list only
// shrinks.
var misread = map[string]string{
	"codex/booting":     "unknown: its first screen has no mark but its name",
	"opencode/retrying": "blocked_api: it says that too many requests are why",
	"qwen/retrying":     "blocked_api: it says that too many requests are why",
}

// TestSituations checks that each capture is read as its agent's activity.
func TestSituations(t *testing.T) {
	does := map[string]session.Activity{}
	for activity, names := range situations {
		for _, name := range names {
			does[name] = activity
		}
	}
	screens, err := filepath.Glob("testdata/*/*/screen.txt")
	if err != nil || len(screens) < 200 {
		t.Fatalf("%d captures (%v)", len(screens), err)
	}
	width := regexp.MustCompile(`-\d{2,3}$`)
	unseen := maps.Clone(misread)
	for _, screen := range screens {
		dir := filepath.Dir(screen)
		c := load(t, dir)
		situation := c.situation
		if does[situation] == "" { // failed-400 has no width
			situation = width.ReplaceAllString(situation, "")
		}
		name := c.agent + "/" + situation
		got := string(c.detect().Activity)
		want, known := does[situation]
		if !known {
			t.Errorf("%s: nobody says what an agent does in this situation: add it to situations", dir)
			continue
		}
		if why, excepted := misread[name]; excepted {
			delete(unseen, name)
			want = session.Activity(strings.SplitN(why, ":", 2)[0])
		}
		if got != string(want) {
			t.Errorf("%s is read as %s, and is %s", dir, got, want)
		}
	}
	for name := range unseen {
		t.Errorf("misread has %s, and no capture", name)
	}
}

// TestVersionOfCaptures checks that all captures, and Tested, are of the versions that the tests
// with real agents run, since those tests do not try every situation.
func TestVersionOfCaptures(t *testing.T) {
	var pinned struct{ Dependencies, OptionalDependencies map[string]string }
	if err := json.Unmarshal([]byte(read(t, "../internal/test/agenttest/agents/package.json")), &pinned); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	maps.Copy(pinned.Dependencies, pinned.OptionalDependencies)
	for name, version := range pinned.Dependencies {
		for _, agent := range Names() {
			if strings.Contains(name, agent) {
				versions[agent] = version
			}
		}
	}
	all, err := filepath.Glob("testdata/*/*/version.txt")
	if err != nil || len(versions) != len(Names()) || len(all) == 0 {
		t.Fatalf("%v, %d captures, versions %v", err, len(all), versions)
	}
	for name, spec := range Builtins() {
		if got := Tested(spec); got != versions[name] {
			t.Errorf("Tested(%s) = %q, and %q is tested", name, got, versions[name])
		}
	}
	for _, file := range all {
		dir := filepath.Dir(file)
		if name, got := filepath.Base(filepath.Dir(dir)), strings.TrimSpace(read(t, file)); got != versions[name] {
			t.Errorf("%s is of %s %s, and %s is tested: make captures", dir, name, got, versions[name])
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

func load(t *testing.T, dir string) capture {
	t.Helper()
	text := func(name string) string { return read(t, filepath.Join(dir, name)) }
	c := capture{
		agent: filepath.Base(filepath.Dir(dir)), situation: filepath.Base(dir), version: strings.TrimSpace(text("version.txt")),
		evidence: session.Evidence{Liveness: session.Alive, Screen: strings.TrimSuffix(text("screen.txt"), "\n"), Title: strings.TrimSuffix(text("title.txt"), "\n")},
	}
	c.evidence.Blank = c.evidence.Screen == ""
	if how := text("exit.txt"); how != "" {
		e := session.Exit{Cause: "self"}
		if _, err := fmt.Sscan(how, &e.Code); err != nil {
			t.Fatalf("exit.txt: %v", err)
		}
		c.evidence.Liveness, c.evidence.Exit = session.Dead, &e
	}
	for line := range bytes.Lines([]byte(text("signals.jsonl"))) {
		c.evidence.Signals = append(c.evidence.Signals, session.Signal{Data: bytes.TrimSpace(line)})
	}
	for line := range bytes.Lines([]byte(text("transcript.jsonl"))) {
		c.lines = append(c.lines, bytes.TrimSpace(line))
	}
	return c
}

// detect returns the detection from all signals.
func (c capture) detect() session.Detection {
	a, e := For(Builtins()[c.agent]), c.evidence
	if len(c.lines) > 0 {
		e.Transcript = new(session.ReadTranscript(a, c.lines))
	}
	return a.Detect(e)
}

// facts returns what is read from a capture, a line for each signal.
func (c capture) facts() string {
	a := For(Builtins()[c.agent])
	var b strings.Builder
	say := func(name string, r session.Detection) {
		fmt.Fprintf(&b, "%s: %s", name, r.Activity)
		if r.Detail != "" {
			fmt.Fprintf(&b, " (%s)", strings.ReplaceAll(r.Detail, "\n", " / "))
		}
		b.WriteByte('\n')
	}
	e := c.evidence
	fmt.Fprintf(&b, "ready: %v\n", a.Ready(e.Screen))
	if e.Liveness == session.Alive {
		say("title", a.Detect(session.Evidence{Liveness: session.Alive, Title: e.Title}))
		say("screen", a.Detect(session.Evidence{Liveness: session.Alive, Screen: e.Screen, Blank: e.Blank}))
		if len(e.Signals) > 0 {
			say("hooks", a.Detect(session.Evidence{Liveness: session.Alive, Signals: e.Signals}))
		}
	}
	if len(c.lines) > 0 {
		n := session.ReadTranscript(a, c.lines)
		say("session file", session.Detection{Activity: n.Activity, Detail: n.Detail})
		fmt.Fprintf(&b, "session: %d prompts, %d turns, %d tokens, last prompt %q, last message %q\n", n.Prompts, n.Turns, n.Tokens, n.LastPrompt, n.LastMessage)
		if n.Interrupted {
			b.WriteString("interrupted: true\n")
		}
		var entries []string
		for _, line := range c.lines {
			for _, entry := range a.Entries(line) {
				entries = append(entries, entry.Kind+" "+entry.Text)
			}
		}
		fmt.Fprintf(&b, "log: %q\n", entries)
	}
	all := c.detect()
	say("all together", all)
	if q := all.Question; q != nil {
		fmt.Fprintf(&b, "question: %s\n", q)
		for _, o := range q.Options {
			fmt.Fprintf(&b, "option %d: %q %q, word %q, key %s, text %v\n", o.Number, o.Label, o.About, o.Word, o.Key, o.Text)
		}
	}
	return b.String()
}

// factsOf returns the lines of a want.txt by name.
func factsOf(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); found {
			all[name] = value
		}
	}
	return all
}

// TestReadyAfterALongAnswer checks that an agent in a resumed conversation is ready though its name
// has scrolled away, but not while only its composer is shown.
func TestReadyAfterALongAnswer(t *testing.T) {
	for _, name := range []string{"copilot", "gemini", "qwen"} {
		idle, err := os.ReadFile(filepath.Join("testdata", name, "idle-80", "screen.txt"))
		if err != nil {
			t.Fatal(err)
		}
		rows := strings.Split(strings.TrimRight(string(idle), "\n"), "\n")
		composer := slices.IndexFunc(rows, regexp.MustCompile(`^ ?[❯>](?: |$)`).MatchString)
		below := strings.Join(rows[composer-1:], "\n")
		a := For(Builtins()[name])
		for above, want := range map[string]bool{strings.Repeat("  so it continues\n", 30): true, strings.Repeat("\n", 30): false} {
			screen := above + below
			if got := a.Ready(screen); got != want {
				t.Errorf("%s: ready %v, want %v, with\n%s", name, got, want, screen)
			}
		}
	}
}
