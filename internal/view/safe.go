package view

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// sequence is a terminal's escape sequence: CSI (colours, cursor), a string
// (OSC, DCS, APC, PM, SOS) with what it carries, a character set, or ESC and one
// more character.
var sequence = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x07\x1b\u009c\n]*(?:\x07|\x1b\\\\|\u009c)" +
	"|\x1b[ -/]+[0-~]|\x1b[0-~]")

// Safe is a text that does nothing to a terminal but show: escape sequences are
// taken out, a carriage return becomes a line break, other control characters
// and those that reverse the direction of writing are shown as what they are
// (^G, <U+202E>), and invalid UTF-8 as U+FFFD. Line breaks and tabs stay.
func Safe(s string) string {
	if safe(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	s = sequence.ReplaceAllLiteralString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\r':
			b.WriteByte('\n')
		case !harmful(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteString("^" + string('@'+r))
		case r == 0x7f:
			b.WriteString("^?")
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

func safe(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, harmful) < 0
}

// harmful reports whether a terminal acts on a character, or shows what follows
// it in another order.
func harmful(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	}
	return r == 0x200e || r == 0x200f || r == 0x061c || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// oneLine is a text as one safe line: line breaks and tabs become spaces.
func oneLine(s string) string {
	s = strings.TrimSpace(Safe(s))
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// headAndRest is the first line of a text, and the lines after it.
func headAndRest(s string) (head string, rest []string) {
	lines := strings.Split(strings.TrimRight(LocalTimes(Safe(s), time.Now()), "\n"), "\n")
	return strings.TrimSpace(lines[0]), lines[1:]
}
