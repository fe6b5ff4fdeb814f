package agent

import "testing"

func TestStill(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"Claude's spinner":     {"● I look.\n\n✶ Meandering… (1s · ↓ 2 tokens)\n", "● I look.\n\n✻ Pondering… (2m 5s · ↓ 1.2k tokens)\n  ⎿  Tip: use /clear\n", true},
		"Codex's timer":        {"• Working (3s • esc to interrupt)\n› Ask\n", "◦ Working (1m 03s • esc to interrupt)\n› Ask\n", true},
		"Gemini's spinner":     {" ⠏ Thinking... (esc to cancel, 1m 3s)   ? for shortcuts\n", " ⠧ Reticulating... (esc to cancel, 2m)   ? for shortcuts\n", true},
		"a script's clock":     {"building 12:03 (45s)\n", "building 12:04 (1m)\n", true},
		"a timer as Go has it": {"thinking for 1m59.5s\n", "thinking for 2m0s\n", true},
		"a timer in words":     {"thinking for 1 minute 59 seconds\n", "thinking for 2 minutes\n", true},
		"a spinner of ASCII":   {"| thinking\n", "/ thinking\n", true},
		"a spinner behind":     {"thinking \\\n", "thinking -\n", true},
		"dots that grow":       {"thinking.\n", "thinking...\n", true},
		"tokens counted":       {"working, tokens: 1,200\n", "working, tokens: 1.3k\n", true},
		"a download":           {"3M of 20M\n", "4M of 20M\n", false},
		"dots of tests":        {"a_test.py ..\n", "a_test.py ...\n", false},
		"a path":               {"reading a/b\n", "reading a/c\n", false},
		"more of an answer":    {"● I look.\n✶ Meandering… (1s)\n", "● I look at it.\n✶ Meandering… (1s)\n", false},
		"a percentage":         {"building 12%\n", "building 13%\n", false},
		"a count":              {"step 3 of 40\n", "step 4 of 40\n", false},
		"Codex's tip":          {"• Working (3s • esc to interrupt)\n› Ask\n", "• Working (33s • esc to interrupt)\n  └ Tip: Start a fresh idea with /new.\n› Ask\n", true},
	} {
		if got := Still(c.a) == Still(c.b); got != c.same {
			t.Errorf("%s: the same is %v: %q, %q", name, got, Still(c.a), Still(c.b))
		}
	}
}
