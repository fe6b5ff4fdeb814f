package input

import (
	"regexp"
	"strings"
)

var keyForm = regexp.MustCompile(`^(?:[CMS]-)*(?:[!-~]|Enter|Escape|Tab|BTab|BSpace|Space|Up|Down|Left|Right|Home|End|` +
	`PageUp|PageDown|PgUp|PgDn|PPage|NPage|Delete|Insert|DC|IC|F(?:[1-9]|1[0-2]))$`)

// IsKey reports whether tmux knows a key by that name. It would type an unknown name as
// text.
func IsKey(name string) bool { return keyForm.MatchString(name) }

// Printable returns text without control characters, which could end a paste and press
// keys. Line breaks and tabs stay.
func Printable(text string) string {
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
