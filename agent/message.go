package agent

import (
	"strings"
	"unicode/utf8"
)

const (
	// messageLength is how much of a message is compared with the screen, in bytes: agents
	// show less of a longer one.
	messageLength = 16 << 10
	// plainLength is the least length of a message that is found without a mark before it:
	// an agent may say the same as a shorter one.
	plainLength = 24
)

// belowMessage returns the row below the user's last message, by its text, or 0: the screen
// does not show all of it. The message may hold blank lines and whatever a person has copied
// from an agent's screen.
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

// rowsOfMessage returns how many rows a message takes that begins with the first, or 0.
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

// denseMessage returns a text without white space and the zero-width spaces that shield it
// from being a command.
func denseMessage(text string) string { return strings.ReplaceAll(denseText(text), "\u200b", "") }
