package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestTokensOfARepetition checks that an answer counts once even if the session file repeats it
// later, as when a conversation is resumed.
func TestTokensOfARepetition(t *testing.T) {
	for _, name := range Names() {
		a, c := For(Builtins()[name]), load(t, filepath.Join("testdata", name, "turn-done"))
		want := session.ReadTranscript(a, c.lines).Tokens
		if got := session.ReadTranscript(a, slices.Concat(c.lines, c.lines)).Tokens; got != want || want == 0 {
			t.Errorf("%s: %d tokens, and %d if the file has all lines twice", name, want, got)
		}
	}
}

// TestTokensOfASideChain checks that a repetition in a side chain of the same file counts once, and
// its own answers count, as in agentform usage.
func TestTokensOfASideChain(t *testing.T) {
	line := func(id, request string, side bool, input, output int) []byte {
		return fmt.Appendf(nil, `{"type":"assistant","timestamp":"2026-03-14T09:00:00Z","requestId":%q,"isSidechain":%t,"message":{"id":%q,"model":"m","role":"assistant","content":[],"usage":{"input_tokens":%d,"output_tokens":%d}}}`,
			request, side, id, input, output)
	}
	lines := [][]byte{line("m1", "r1", false, 100, 10), line("m1", "r2", true, 100, 10), line("m3", "r3", true, 5, 3)}
	if got := session.ReadTranscript(For(Builtins()["claude"]), lines).Tokens; got != 118 {
		t.Errorf("%d tokens, want 118", got)
	}
}
