// Package plaintext makes text to print on a terminal, which is safe there.
package plaintext

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Sequence matches a terminal's escape sequence: CSI (colors, cursor), a string (OSC,
// DCS, APC, PM, SOS) with its content, a character set, or ESC and one more character.
var Sequence = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x07\x1b\u009c\n]*(?:\x07|\x1b\\\\|\u009c)" +
	"|\x1b[ -/]+[0-~]|\x1b[0-~]")

// Safe returns a text that a terminal only shows: without escape sequences, with line
// breaks for carriage returns, and with other control characters and those that change
// the writing direction in caret notation (^G, <U+202E>). Invalid UTF-8 becomes U+FFFD.
func Safe(s string) string {
	if safe(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	s = Sequence.ReplaceAllLiteralString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\r':
			b.WriteByte('\n')
		case !Harmful(r):
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
	return strings.IndexFunc(s, Harmful) < 0
}

// Harmful reports whether a terminal acts on a character or changes the writing
// direction for it.
func Harmful(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	}
	return r == 0x200e || r == 0x200f || r == 0x061c || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// OneLine returns a text as one safe line, with spaces for line breaks and tabs.
func OneLine(s string) string {
	s = strings.TrimSpace(Safe(s))
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// Cut returns s, or if it has more bytes than limit, its start in whole characters and a mark.
func Cut(s string, limit int, mark string) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + mark
}

// FileName returns the name of a file as it is, or quoted as in Go if it is not one line of visible
// characters: agents choose names, and other agents read them.
func FileName(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}

// List returns words as a sentence lists them, the last one after "and" or "or":
// a, b and c.
func List(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// ShellWord returns a text as one word of a shell command. A word that starts with = is
// quoted too: zsh would expand it.
func ShellWord(s string) string {
	plain := s != "" && s[0] != '=' && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,@%=", r))
	})
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ShellWords returns words as a command line of a shell.
func ShellWords(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = ShellWord(word)
	}
	return strings.Join(quoted, " ")
}

// Count returns a number with its noun: 1 session, 3 sessions.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
