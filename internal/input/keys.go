package input

import (
	"regexp"
	"strings"
)

var known = regexp.MustCompile(`^(?:[CMS]-)*(?:[!-~]|Enter|Escape|Tab|BTab|BSpace|Space|Up|Down|Left|Right|Home|End|` +
	`PageUp|PageDown|PgUp|PgDn|PPage|NPage|Delete|Insert|DC|IC|F(?:[1-9]|1[0-2]))$`)

// Known reports whether tmux knows a key by that name. An unknown name would be typed
// as text.
func Known(name string) bool { return known.MatchString(name) }

// Typed is the text without what could not be typed: control characters, with which a
// text could end the paste and press keys. Line breaks and tabs stay.
func Typed(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return c
		case c == '\r':
			return '\n'
		case c < 0x20 || c >= 0x7f && c < 0xa0:
			return -1
		}
		return c
	}, text)
}
