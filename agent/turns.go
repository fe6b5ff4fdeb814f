package agent

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentform/agentform/session"
)

// The last prompt on the screen of an agent whose messages of the user have no known
// form. Composer is the number of the composer's row; -1: none shows.

// belowTyped returns the number of the row below the last text that was typed and
// submitted; 0: none shows.
func (r *reader) belowTyped(rows []row, typed []session.Span, composer int) int {
	for _, s := range slices.Backward(typed) {
		first := slices.IndexFunc(rows, func(row row) bool { return row.line >= s.First })
		if first < 0 {
			continue
		}
		below := first
		for below < len(rows) && rows[below].line <= s.Last {
			below++
		}
		if r.submitted(rows, first, below, composer) {
			return below
		}
	}
	return 0
}

// submitted reports whether something was printed below a text that was typed. If not,
// the text may still be in the composer, or a status line shows it.
func (r *reader) submitted(rows []row, first, below, composer int) bool {
	switch {
	case composer >= below:
		return composer > below
	case composer >= 0 && composer < first: // below the composer
		return false
	case composer >= 0 && below < len(rows) && rows[below].gap: // a status line, apart from the composer
		return false
	}
	return len(rows)-below > r.statusBar
}

// belowPrompt returns the number of the row below the last one above the composer that
// shows the mark of the ready pattern with a text behind it; 0: none does. A person may
// have typed it.
func (r *reader) belowPrompt(rows []row, composer int) int {
	mark := ""
	if composer >= 0 {
		mark, _ = r.promptMark(rows[composer].text)
		rows = rows[:composer]
	}
	for i, row := range slices.Backward(rows) {
		if option.MatchString(row.text) {
			continue
		}
		if own, from := r.promptMark(row.text); textBehind(row.text, mark) || from == 0 && textBehind(row.text, own) {
			return i + 1
		}
	}
	return 0
}

// prompts reports whether a row looks like a composer. The blank at its end, which rows
// lack, may be part of the pattern.
func (r *reader) prompts(text string) bool {
	return r.ready.match(text) || r.ready.match(text+" ")
}

// promptMark returns what a row shows up to where the ready pattern ends, if that is a
// sign, such as ">" or "you>", and where the pattern begins; else it is empty.
func (r *reader) promptMark(text string) (mark string, from int) {
	for _, re := range r.ready {
		for _, text := range []string{text, text + " "} {
			at := re.FindStringIndex(text)
			if at == nil {
				continue
			}
			mark := strings.TrimRightFunc(text[:at[1]], unicode.IsSpace)
			if end, _ := utf8.DecodeLastRuneInString(mark); mark != "" && !unicode.IsLetter(end) && !unicode.IsDigit(end) {
				return mark, at[0]
			}
		}
	}
	return "", 0
}

// textBehind reports whether a row is a mark, a blank and a text.
func textBehind(text, mark string) bool {
	rest, found := strings.CutPrefix(text, mark)
	blank, _ := utf8.DecodeRuneInString(rest)
	return mark != "" && found && unicode.IsSpace(blank)
}
