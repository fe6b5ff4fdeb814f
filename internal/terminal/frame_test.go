package terminal_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentform/agentform/internal/terminal"
	_ "github.com/agentform/agentform/internal/test/seed"
)

const begin, end = "\x1b[?2026h", "\x1b[?2026l"

func TestFrameEndsBetweenSequences(t *testing.T) {
	for _, c := range []struct{ in, frame, rest string }{
		{"abc", begin + "abc" + end, ""},
		{"abc\x1b[3", begin + "abc" + end, "\x1b[3"},
		{"abc\x1b[31mé", begin + "abc\x1b[31mé" + end, ""},
		{"abc\xc3", begin + "abc" + end, "\xc3"},
		{"a\x1b]0;title", begin + "a" + end, "\x1b]0;title"},
		{"a\x1b]0;title\x1b\\b", begin + "a\x1b]0;title\x1b\\b" + end, ""},
		{"a\x1b]0;title\ab", begin + "a\x1b]0;title\ab" + end, ""},
		{"a\x1b(", begin + "a" + end, "\x1b("},
		{"\x1b[", "", "\x1b["},
	} {
		var f terminal.Framer
		frame, rest := f.Frame([]byte(c.in))
		if string(frame) != c.frame || string(rest) != c.rest {
			t.Errorf("%q: frame %q and rest %q, want %q and %q", c.in, frame, rest, c.frame, c.rest)
		}
	}
}

// Whatever is printed and wherever it is cut, the page gets the same bytes, and no mark is
// within a sequence.
func TestFramesAreTheOutput(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "é", "世", "🙂", "\x1b[1;31m", "\x1b]0;t\a", "\x1b]52;c;" + strings.Repeat("x", 200) + "\x1b\\", "\r\n", "\x1bc", "\x1b(B", "\x9b", "\xff"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		var f terminal.Framer
		var got strings.Builder
		var rest []byte
		for left := text; left != ""; {
			n := rapid.IntRange(1, min(len(left), 90)).Draw(t, "cut")
			frame, after := f.Frame(append(rest, left[:n]...))
			rest, left = append([]byte(nil), after...), left[n:]
			shown := strings.TrimSuffix(strings.TrimPrefix(string(frame), begin), end)
			if strings.Contains(shown, "2026") {
				t.Fatalf("a mark within %q", frame)
			}
			got.WriteString(shown)
		}
		got.Write(rest)
		if got.String() != text {
			t.Fatalf("got %q, want %q", got.String(), text)
		}
	})
}
