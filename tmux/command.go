package tmux

import (
	"fmt"
	"strings"
)

// command is one tmux command, as its words.
type command []string

// line writes commands as one line of tmux's own language. They are run one
// after the other, with nothing of another client in between, until one fails.
func line(cmds []command) string {
	var b strings.Builder
	for i, c := range cmds {
		if i > 0 {
			b.WriteString(" ; ")
		}
		for j, w := range c {
			if j > 0 {
				b.WriteByte(' ')
			}
			quote(&b, w)
		}
	}
	return b.String()
}

// quote writes a word so that tmux reads it back as it is, on one line: in
// double quotes, where the backslash, the quote and the dollar mean something,
// and in octal what is not plain ASCII. A tilde at the beginning would be a home
// folder even there, and a byte of 0xff the end of the file.
func quote(b *strings.Builder, w string) {
	b.WriteByte('"')
	for i := range len(w) {
		switch c := w[i]; {
		case c == '"' || c == '\\' || c == '$':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c >= '~':
			fmt.Fprintf(b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}

// literal escapes text for an argument that tmux expands as a format, where
// #(…) would run a command.
func literal(s string) string { return strings.ReplaceAll(s, "#", "##") }

// exactly is the target of the session with exactly that name.
func exactly(name string) string { return "=" + name + ":" }

// fields takes a row apart that was printed as #{q:a}|#{q:b}|…: the modifier q
// puts a backslash before every character that means something to a shell, the
// bar and the backslash among them.
func fields(row string) []string {
	var out []string
	var b strings.Builder
	for i := 0; i < len(row); i++ {
		switch c := row[i]; {
		case c == '\\' && i+1 < len(row):
			i++
			b.WriteByte(row[i])
		case c == '|':
			out = append(out, b.String())
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(out, b.String())
}
