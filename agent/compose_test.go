package agent

import "testing"

// The text of an empty composer is not a draft. The lines are from the screens of Claude Code
// 2.1.197 and Codex 0.169.0.
func TestComposer(t *testing.T) {
	for name, c := range map[string]struct{ agent, screen, want string }{
		"claude, empty":             {"claude", "● Hi.\n──\n❯ \n──\n  ? for shortcuts\n", ""},
		"claude, a suggestion":      {"claude", "──\n❯ Try \"fix lint errors\"\n──\n", ""},
		"claude, others are queued": {"claude", "  ❯ a small one\n──\n❯ Press up to edit queued messages\n──\n", ""},
		"claude, a draft":           {"claude", "──\n❯ Press up twice\n──\n", "Press up twice"},
		"codex, empty":              {"codex", "› Ask Codex to do anything\n\n  gpt-5 default · /work\n", ""},
		"codex, a draft":            {"codex", "› do it\n\n  gpt-5 default · /work\n", "do it"},
	} {
		t.Run(name, func(t *testing.T) {
			a, ok := For(Builtins()[c.agent]).(interface {
				Composer(string) (string, bool)
			})
			if !ok {
				t.Fatal("it has no composer")
			}
			if got, shown := a.Composer(c.screen); !shown || got != c.want {
				t.Errorf("got %q, %v, want %q", got, shown, c.want)
			}
		})
	}
}
