package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// For an agent whose user messages have no known form, the present starts below the last text that
// was typed and answered, and below the last line with the mark of the ready pattern and a text.
// Lines of these screens that end in «» were typed by agentform.
func TestThePresentOfACustomAgent(t *testing.T) {
	const limit = "> go on\nrate limit exceeded\n"
	for name, c := range map[string]struct {
		ready  string
		bar    int
		screen string
		want   session.Activity
		detail string
	}{
		"a limit of this turn":                {"^>", 0, "> go on«»\nrate limit exceeded\n> ", session.BlockedAPI, "rate limit exceeded"},
		"a limit of before":                   {"^>", 0, limit + "> …«»\nAll is fine.\n> ", session.Idle, ""},
		"a failure after a limit of before":   {"^>", 0, limit + "> …«»\nFatal error: no\n> ", session.Failed, "Fatal error: no"},
		"a failure below a limit":             {"^>", 0, "> …«»\nrate limit exceeded\nFatal error: no\n> ", session.Failed, "Fatal error: no"},
		"a limit below a failure":             {"^>", 0, "> …«»\nFatal error: no\nrate limit exceeded\n> ", session.BlockedAPI, "rate limit exceeded"},
		"a farewell of before":                {"^>", 0, "> bye\nGoodbye!\n> …«»\nAll is fine.\n> ", session.Idle, ""},
		"a text without an answer":            {"^>", 0, limit + "> …«»\n> ", session.Idle, ""},
		"an answer, no prompt yet":            {"^>", 0, limit + "> …«»\nThinking", session.Idle, ""},
		"a failure, no prompt yet":            {"^>", 0, limit + "> …«»\nFatal error: no", session.Failed, "Fatal error: no"},
		"a text of two lines":                 {"^>", 0, limit + "> …«»\n  …«»\nAll is fine.\n> ", session.Idle, ""},
		"a text of which nothing became yet":  {"^>", 0, limit + "> …«»", session.BlockedAPI, "rate limit exceeded"},
		"a text in a composer":                {"^>", 0, limit + "╭────╮\n│ > …«» │\n╰────╯\n  ? for shortcuts", session.BlockedAPI, "rate limit exceeded"},
		"two lines in a composer":             {"^>", 0, limit + "╭────╮\n│ > …«» │\n│   …«» │\n╰────╯\n  ? for shortcuts", session.BlockedAPI, "rate limit exceeded"},
		"a text in a status line":             {"^>", 0, limit + "\n> \n…«»", session.BlockedAPI, "rate limit exceeded"},
		"a text in the first of two":          {"^>", 0, limit + "\n> \n…«»\n? for shortcuts", session.BlockedAPI, "rate limit exceeded"},
		"a text in a title above a composer":  {"^>", 0, limit + "── …«» ──\n> ", session.BlockedAPI, "rate limit exceeded"},
		"a text in a status bar":              {"^>", 2, limit + "1\n2\n3\n…«»\n30%", session.BlockedAPI, "rate limit exceeded"},
		"no ready pattern":                    {"", 0, "go on\nrate limit exceeded\n…«»\nAll is fine.", session.NoActivity, ""},
		"no ready pattern, nothing yet":       {"", 0, "go on\nrate limit exceeded\n…«»", session.BlockedAPI, "rate limit exceeded"},
		"no mark":                             {"How can I help", 0, "go on\nrate limit exceeded\nHow can I help?\n…«»\nAll is fine.\nHow can I help?", session.Idle, ""},
		"a person's":                          {"^>", 0, limit + "> now\nAll is fine.\n> ", session.Idle, ""},
		"a person's, then a failure":          {"^>", 0, limit + "> now\nFatal error: no\n> ", session.Failed, "Fatal error: no"},
		"a person's, below a typed one":       {"^>", 0, "> …«»\nrate limit exceeded\n> now\nAll is fine.\n> ", session.Idle, ""},
		"a person's, at work for long":        {"^>", 0, limit + "> now\n1\n2\n3\n4\n5", session.Idle, ""},
		"a person's draft":                    {"^>", 0, limit + "> now", session.BlockedAPI, "rate limit exceeded"},
		"a mark with its blank":               {"^> ", 0, limit + "> now\nAll is fine.\n> ", session.Idle, ""},
		"a mark with its blank, and an end":   {"^> $", 0, limit + "> now\nAll is fine.\n> ", session.Idle, ""},
		"a failure below a mark with a blank": {"^> ", 0, limit + "> now\nFatal error: no\n> ", session.Failed, "Fatal error: no"},
		"a mark and an end":                   {"^>$", 0, limit + "> now\nAll is fine.\n> ", session.Idle, ""},
		"a mark with a name":                  {`^\w+>`, 0, "you> go on\nrate limit exceeded\nyou> now\nAll is fine.\nyou> ", session.Idle, ""},
		"a mark that counts":                  {`^In \[\d+\]:`, 0, "In [1]: go on\nrate limit exceeded\nIn [2]: now\nAll is fine.\nIn [3]: ", session.Idle, ""},
		"a shell's":                           {`\$ $`, 0, "a@b:~$ go on\nrate limit exceeded\na@b:~$ now\nAll is fine.\na@b:~$ ", session.Idle, ""},
		"a question's answer":                 {"^>", 0, "> go on\nrate limit exceeded\n> 1. Yes\n> ", session.BlockedAPI, "rate limit exceeded"},
		"a word is no mark":                   {"ready", 0, "rate limit exceeded\nready for more\nready", session.BlockedAPI, "rate limit exceeded"},
		"no mark at the start of a line":      {">", 0, "rate limit exceeded\n1 > 0 as it says\n> ", session.BlockedAPI, "rate limit exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			e := session.Evidence{Liveness: session.Alive, Now: noon, MovedAt: noon.Add(-turn.Quiet)}
			n := 0
			for line := range strings.Lines(c.screen) {
				switch last := len(e.Typed) - 1; {
				case !strings.Contains(line, "«»"):
				case last >= 0 && e.Typed[last].Last == n-1:
					e.Typed[last].Last = n
				default:
					e.Typed = append(e.Typed, session.Span{First: n, Last: n})
				}
				n++
			}
			e.Screen = strings.ReplaceAll(c.screen, "«»", "")
			a := For(session.AgentSpec{Name: "x", Command: []string{"x"}, Ready: c.ready, StatusBarLines: c.bar})
			want := session.Detection{Activity: c.want, Detail: c.detail, Source: FromScreen}
			if diff := cmp.Diff(want, a.Detect(e)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// For an agent whose messages have a known form, the present starts below the last message,
// whatever was typed.
func TestThePresentOfABuiltInAgent(t *testing.T) {
	const screen = "❯ go\n\n● API Error: 500 down\n\nagain\n\n────\n❯ \n────\n  ? for shortcuts"
	got := For(builtin("claude")).Detect(session.Evidence{Liveness: session.Alive, Screen: screen, Typed: []session.Span{{First: 4, Last: 4}}})
	if got.Activity != session.Failed {
		t.Errorf("%+v", got)
	}
}
