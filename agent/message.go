package agent

import (
	"strings"
	"unicode/utf8"
)

const (
	// messageLength is the part of a message that is compared with the screen, in bytes: agents
	// show less of a longer message.
	messageLength = 16 << 10
	// plainLength is the minimum length of a message that is found without a mark before it: an
	// agent may print a shorter text itself.
	plainLength = 24
)

// belowMessage returns the row below the user's last message, found by its text, or 0 if the screen
// does not show all of it. The message may contain blank lines and text copied from an agent's
// screen.
func (l layout) belowMessage(rows []row, message string) int {
	if len(message) > messageLength {
		return 0
	}
	message = denseMessage(message)
	if message == "" || l.turn == nil && len(message) < plainLength {
		return 0
	}
	for i := len(rows) - 1; i >= 0; i-- {
		first := rows[i].text
		if l.turn != nil {
			if !l.turn.MatchString(first) {
				continue
			}
			_, mark := utf8.DecodeRuneInString(first)
			first = first[mark:]
		}
		if n := l.rowsOfMessage(first, rows[i+1:], message); n > 0 {
			return i + n
		}
	}
	return 0
}

// rowsOfMessage returns how many rows a message takes that starts with the row first, or 0.
func (l layout) rowsOfMessage(first string, more []row, message string) int {
	first = denseMessage(first)
	rest, is := strings.CutPrefix(message, first)
	if !is && l.sent != nil {
		rest, is = strings.CutPrefix(message, l.sent.ReplaceAllString(first, ""))
	}
	for n := 1; is; n++ {
		if rest == "" {
			return n
		}
		if n > len(more) {
			break
		}
		rest, is = strings.CutPrefix(rest, denseMessage(more[n-1].text))
	}
	return 0
}

// denseMessage returns a text without white space and without the zero-width spaces that keep it
// from being a command.
func denseMessage(text string) string { return strings.ReplaceAll(denseText(text), "\u200b", "") }
