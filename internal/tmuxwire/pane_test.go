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

func TestPaneExit(t *testing.T) {
	for _, c := range []struct {
		status, signal string
		code           int
		name           string
		known          bool
	}{
		{"", "", 0, "", false},
		{"0", "", 0, "", true},
		{"3", "", 3, "", true},
		{"", "9", 0, "SIGKILL", true},
		{"", "kill", 0, "SIGKILL", true},
		{"", "SIGTERM", 0, "SIGTERM", true},
		{"x", "", 0, "", false},
	} {
		code, name, known := Pane{ExitStatus: c.status, ExitSignal: c.signal}.Exit()
		if code != c.code || name != c.name || known != c.known {
			t.Errorf("status %q, signal %q: %d, %q, %v; want %d, %q, %v", c.status, c.signal, code, name, known, c.code, c.name, c.known)
		}
	}
}
