package agent

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

// recorded returns the recorded files of the real agents with these names' ends.
func recorded(f *testing.F, ends ...string) (texts []string) {
	err := filepath.WalkDir("testdata", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(path, end) }) {
			return err
		}
		b, err := os.ReadFile(path)
		texts = append(texts, string(b))
		return err
	})
	if err != nil || len(texts) == 0 {
		f.Fatalf("%d files, %v", len(texts), err)
	}
	return texts
}

// FuzzTranscript checks the reading of session files, which agents write as they like and change
// with each version: the result can be stored, has no negative counts, and only known activities.
func FuzzTranscript(f *testing.F) {
	for _, line := range []string{rolloutMeta, rolloutStarted, rolloutUser, rolloutTokens, chatHead, chatAnswer, chatFailed} {
		f.Add([]byte(line))
	}
	for _, text := range recorded(f, ".jsonl") {
		f.Add([]byte(text))
	}
	f.Add([]byte(rolloutStarted + "\n" + strings.ReplaceAll(rolloutUsed, "1795246514", "9000000000000000") + "\n" + rolloutFailed(`"usage_limit_exceeded"`)))
	f.Add([]byte(`{"timestamp":"9999-12-31T23:59:59+23:59","type":"user","message":{"content":[[[{}]]]}}` + "\n[]\nnull\n"))
	agents := map[string]session.Agent{}
	for name, spec := range Builtins() {
		agents[name] = For(spec)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := slices.Collect(func(yield func([]byte) bool) {
			for line := range strings.Lines(string(text)) {
				if !yield([]byte(strings.TrimSuffix(line, "\n"))) {
					return
				}
			}
		})
		for name, a := range agents {
			n := session.ReadTranscript(a, lines)
			if looked := lookedAt(t, a, lines); !cmp.Equal(looked, n) {
				t.Errorf("%s: read line by line and looked at between: %s", name, cmp.Diff(looked, n))
			}
			if _, err := json.Marshal(n); err != nil {
				t.Errorf("%s: %+v cannot be stored: %v", name, n, err)
			}
			if n.Prompts < 0 || n.Turns < 0 || n.Tokens < 0 {
				t.Errorf("%s: %+v", name, n)
			}
			if r := a.Detect(session.Evidence{Liveness: session.Alive, Transcript: &n, Now: time.Unix(1_790_000_000, 0)}); r.Activity == "" {
				t.Errorf("%s: %+v reads as nothing", name, n)
			}
			for _, line := range lines {
				for _, e := range a.Entries(line) {
					if _, err := json.Marshal(e); err != nil || e.Kind == "" {
						t.Errorf("%s: entry %+v, %v", name, e, err)
					}
				}
			}
		}
	})
}

// FuzzRead checks the reading of screens, titles and hook reports, which agents write as they like:
// the result can be stored, is one line of bounded length, and the same each time.
func FuzzRead(f *testing.F) {
	for _, text := range recorded(f, "screen.txt") {
		f.Add(text, "title", []byte(`{"hook_event_name":"Stop"}`))
	}
	f.Add("try again at 7:35 AM GMT+99 ", "\x1b]0;x\x07", []byte(`{"hook_event_name":"Notification","message":"\u001b[31m"}`))
	f.Add("try again at Feb 31st, 0000 7:35 AM UTC-99 ", "✳ x", []byte(`{"type":"agent-turn-complete"}`))
	f.Add("https://github.com/a/b/pull/1\u202e", "", []byte(`[]`))
	agents := map[string]session.Agent{"custom": For(session.AgentSpec{Name: "x", Command: []string{"x"}, Patterns: session.Patterns{Done: []string{"done"}, ShellPrompt: []string{`\$ $`}}})}
	for name, spec := range Builtins() {
		agents[name] = For(spec)
	}
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, screen, title string, signal []byte) {
		for name, a := range agents {
			for _, liveness := range []session.Liveness{session.Alive, session.Dead} {
				e := session.Evidence{Liveness: liveness, Screen: screen, Title: title, Now: now, Prompted: true, Signals: []session.Signal{{At: now, Data: signal}}, Typed: []session.Span{{First: len(title) % 7, Last: len(signal) % 11}}}
				r := a.Detect(e)
				if _, err := json.Marshal(r); err != nil {
					t.Errorf("%s: %+v cannot be stored: %v", name, r, err)
				}
				if again := a.Detect(e); !reflect.DeepEqual(again, r) {
					t.Errorf("%s: %+v, and again %+v", name, r, again)
				}
				if len(r.PR) > 500 || strings.ContainsAny(r.PR, "\n\x1b") {
					t.Errorf("%s: pull request %.200q", name, r.PR)
				}
			}
			a.Ready(screen)
			if c, ok := a.(interface{ Composer(string) (string, bool) }); ok {
				if text, shown := c.Composer(screen); !shown && text != "" || strings.Contains(text, "\n") {
					t.Errorf("%s: composer %q", name, text)
				}
			}
		}
	})
}

// FuzzLimitEnd checks that the end of a limit, which an agent states, can be stored.
func FuzzLimitEnd(f *testing.F) {
	for _, s := range []string{"try again at 7:35 AM GMT+99 ", "resets 3pm", "try again at Feb 31st, 0000 99:99 pm UTC-99 ", "resets at Nov 22nd, 2026 7:35 AM"} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, said string) {
		at := limitEnd(said, now)
		if _, err := json.Marshal(at); err != nil {
			t.Errorf("%q ends at %v, which cannot be stored: %v", said, at, err)
		}
	})
}

// lookedAt returns the transcript after reading each of the lines, and checks that earlier results
// do not change.
func lookedAt(t *testing.T, a session.Agent, lines [][]byte) session.Transcript {
	r := a.Reader()
	var said session.Transcript
	for _, line := range lines {
		was := fmt.Sprintf("%+v", said)
		r.Add(line)
		if is := fmt.Sprintf("%+v", said); is != was {
			t.Errorf("a transcript changed afterwards from %s to %s", was, is)
		}
		said = r.Transcript()
	}
	return r.Transcript()
}
