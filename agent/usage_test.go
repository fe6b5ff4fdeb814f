package agent

import (
	"fmt"
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

// TestTokensOfASideChain checks that what a side chain in the same file repeats counts once, and
// what it has of its own counts, as agentform usage has it.
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
