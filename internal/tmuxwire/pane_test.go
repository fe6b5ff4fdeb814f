package tmuxwire

import (
	"slices"
	"strings"
	"testing"
)

// FuzzFields checks that Fields divides what tmux's modifier q has quoted.
func FuzzFields(f *testing.F) {
	f.Add("a|b", `\`, "é")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var rows []string
		for _, s := range []string{a, b, c} {
			var q strings.Builder
			for i := range len(s) {
				if strings.IndexByte("|&;<>()$`\\\"'*?[# =%", s[i]) >= 0 {
					q.WriteByte('\\')
				}
				q.WriteByte(s[i])
			}
			rows = append(rows, q.String())
		}
		if got := Fields(strings.Join(rows, "|")); !slices.Equal(got, []string{a, b, c}) {
			t.Fatalf("got %q, want %q", got, []string{a, b, c})
		}
	})
}
