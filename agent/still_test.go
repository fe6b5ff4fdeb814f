package agent

import "testing"

func TestStill(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"Claude's spinner":  {"● I look.\n\n✶ Meandering… (1s · ↓ 2 tokens)\n", "● I look.\n\n✻ Pondering… (2m 5s · ↓ 1.2k tokens)\n  ⎿  Tip: use /clear\n", true},
		"Codex's timer":     {"• Working (3s • esc to interrupt)\n› Ask\n", "◦ Working (1m 03s • esc to interrupt)\n› Ask\n", true},
		"Codex's tip":       {"• Working (3s • esc to interrupt)\n› Ask\n", "• Working (33s • esc to interrupt)\n  └ Tip: Start a fresh idea with /new.\n› Ask\n", true},
		"Gemini's spinner":  {" ⠏ Thinking... (esc to cancel, 1m 3s)   ? for shortcuts\n", " ⠧ Reticulating... (esc to cancel, 2m)   ? for shortcuts\n", true},
		"a script's clock":  {"building 12:03 (45s)\n", "building 12:04 (1m)\n", true},
		"more of an answer": {"● I look.\n✶ Meandering… (1s)\n", "● I look at it.\n✶ Meandering… (1s)\n", false},
		"a percentage":      {"building 12%\n", "building 13%\n", false},
		"a count":           {"step 3 of 40\n", "step 4 of 40\n", false},
	} {
		if got := Still(c.a) == Still(c.b); got != c.same {
			t.Errorf("%s: the same is %v: %q, %q", name, got, Still(c.a), Still(c.b))
		}
	}
}
