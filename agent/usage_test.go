package agent

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestTokensOfARepetition checks that an answer counts once, also if the session file has it again
// behind others, as after a conversation was resumed.
func TestTokensOfARepetition(t *testing.T) {
	for _, name := range Names() {
		a, c := For(Builtins()[name]), load(t, filepath.Join("testdata", name, "turn-done"))
		want := session.ReadTranscript(a, c.lines).Tokens
		if got := session.ReadTranscript(a, slices.Concat(c.lines, c.lines)).Tokens; got != want || want == 0 {
			t.Errorf("%s: %d tokens, and %d if the file has all lines twice", name, want, got)
		}
	}
}
