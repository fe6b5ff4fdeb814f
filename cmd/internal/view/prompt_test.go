package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

func TestPromptWords(t *testing.T) {
	long := strings.Repeat("é", 80)
	for text, want := range map[string]string{
		"":                      "(none)",
		"Build it.":             `"Build it."`,
		"\n  Build it.\n":       `"Build it."`,
		"# Task\n\nBuild it.\n": `"# Task" (3 lines, 18 B)`,
		long:                    `"` + strings.Repeat("é", 55) + `…" (160 B)`,
		"\n \n":                 `"" (3 B)`,
	} {
		if got := promptWords(session.PromptOf(text)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	if got := promptWords(session.Prompt{Digest: session.PromptOf("gone").Digest}); len(got) != 12 {
		t.Errorf("without its text: %s", got)
	}
}

// A changed prompt is shown as a diff, without control characters for the terminal.
func TestChangedPrompt(t *testing.T) {
	numbered := func(from, to int, change map[int]string) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			line, changed := change[i]
			if !changed {
				line = fmt.Sprintf("line %d", i)
			}
			b.WriteString(line + "\n")
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		before, after string
		full          bool
		want          string
	}{
		"short":  {"say hello", "say more", false, `~ prompt: "say hello" -> "say more"`},
		"new":    {"", "say more", false, `+ prompt: "say more"`},
		"none":   {"say more", "", false, `- prompt: "say more"`},
		"middle": {numbered(1, 9, nil), numbered(1, 9, map[int]string{5: "user@host"}), false, "~ prompt:\n    …\n      line 4\n    - line 5\n    + user@host\n      line 6\n    …"},
		"two":    {numbered(1, 9, nil), numbered(1, 9, map[int]string{1: "first", 9: "last"}), false, "~ prompt:\n    - line 1\n    + first\n      line 2\n    …\n      line 8\n    - line 9\n    + last"},
		"escape": {"a\nb", "a\n\x1b[2Jb\r", false, "~ prompt:\n      a\n    - b\n    + b"},
		"many":   {"one\n", numbered(1, 60, nil), false, "~ prompt:\n    - one\n" + added(1, 23) + "    # 37 more lines; --detail full shows them"},
		"long":   {"one\n", strings.Repeat("é", 100_000), false, "~ prompt:\n    - one\n    + " + strings.Repeat("é", 198) + "… # 99802 more characters"},
		"whole":  {"one\n", strings.Repeat("é", 300), true, "~ prompt:\n    - one\n    + " + strings.Repeat("é", 300)},
		"full":   {"one\n", numbered(1, 60, nil), true, "~ prompt:\n    - one\n" + strings.TrimSuffix(added(1, 60), "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{}
			b, a := session.PromptOf(c.before), session.PromptOf(c.after)
			writeField(p, "", plan.Field{Path: "prompt", Before: b.Digest, After: a.Digest},
				plan.Change{Before: &session.Record{Spec: session.Spec{Prompt: b}}, After: &session.Spec{Prompt: a}}, c.full)
			if d := cmp.Diff(c.want+"\n", p.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

func added(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "    + line %d\n", i)
	}
	return b.String()
}

// The outcomes of started sessions, the most urgent first.
func TestStarted(t *testing.T) {
	one := func(name string, s session.State, a session.Activity, detail string) api.Session {
		x := api.Session{Address: session.Single(name), Name: name, State: s, Activity: a, Detail: detail}
		reasons := map[session.Activity]string{session.Blocked: "blocked", session.BlockedAPI: "blocked_api", session.Exited: "stale", session.Idle: "turn_ended"}
		if reason := reasons[a]; reason != "" {
			x.Needs = &api.Need{Reason: reason}
		}
		return x
	}
	for name, c := range map[string]struct {
		sessions []api.Session
		want     string
	}{
		"nothing": {nil, ""},
		"works":   {[]api.Session{one("a", session.StateRunning, session.Working, "")}, "1 session works: a → agentform attach a\n"},
		"each": {[]api.Session{
			one("a", session.StateRunning, session.Working, ""), one("b", session.StateRunning, session.Working, ""),
			one("c", session.StateStale, session.Exited, "agent exited (exit status 3)"), one("d", session.StateStale, session.Done, "finished"),
			one("e", session.StateStarting, session.Booting, ""), one("f", session.StateRunning, session.BlockedAPI, "usage limit"),
			one("h", session.StateRunning, session.Idle, ""), one("i", session.StateRunning, session.Unobserved, ""),
			one("g", session.StateStarting, session.Blocked, "Trust this folder?\n1. Yes"),
		}, `1 session waits for you: g asks whether to trust the folder → agentform attach g
1 session is done: d → agentform logs d
1 session needs help: c: agent exited (exit status 3) → agentform logs c
1 session waits for its provider: f: usage limit → agentform show f
1 session is still starting: e → agentform wait e --for=ready
1 session has finished its turn: h → agentform logs h
2 sessions work: a and b → agentform status
1 session runs: i → agentform attach i
`},
		"several ask": {[]api.Session{
			one("a", session.StateRunning, session.Blocked, "run x?"), one(`w["b c"]`, session.StateRunning, session.Blocked, "run y?"),
		}, "2 sessions wait for you:\n  a asks: run x? → agentform attach a\n  w[\"b c\"] asks: run y? → agentform attach 'w[\"b c\"]'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := Started(&b, Style{}, c.sessions, time.Now()); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, b.String()); d != "" {
				t.Error(d)
			}
		})
	}
}
