package ui

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

var colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

// runes measures text the same in every locale.
var runes = &runewidth.Condition{StrictEmojiNeutral: true}

// width returns how many columns a painted text takes.
func width(text string) (n int) {
	for _, r := range colors.ReplaceAllLiteralString(text, "") {
		n += runes.RuneWidth(r)
	}
	return n
}

// cut returns the columns of a painted text from one on, and keeps its colors. Half a
// character is left out.
func cut(text string, from, columns int) string {
	var b strings.Builder
	at := 0
	for text != "" {
		if sgr := colors.FindString(text); sgr != "" && strings.HasPrefix(text, sgr) {
			b.WriteString(sgr)
			text = text[len(sgr):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		w := runes.RuneWidth(r)
		if at >= from && at+w <= from+columns {
			b.WriteRune(r)
		}
		at, text = at+w, text[size:]
	}
	return b.String()
}

// shorten cuts a painted text to a width, with … at its end.
func shorten(text string, columns int) string {
	if width(text) <= columns {
		return text
	}
	short := cut(text, 0, max(columns-1, 0))
	if columns < 1 {
		return short
	}
	if body, reset := strings.CutSuffix(short, "\x1b[0m"); reset {
		return body + "…\x1b[0m"
	}
	return short + "…"
}

// fit shortens or fills a painted text to a width.
func fit(text string, columns int) string {
	text = shorten(text, columns)
	return text + strings.Repeat(" ", max(columns-width(text), 0))
}

// wrap breaks a painted text into lines of at most a width, at spaces where there are any.
func wrap(text string, columns int) []string {
	var lines []string
	for width(text) > columns {
		head := cut(text, 0, columns)
		plain := colors.ReplaceAllLiteralString(head, "")
		at := len([]rune(plain))
		if space := strings.LastIndex(plain, " "); space > len(plain)/2 {
			at = len([]rune(plain[:space]))
		}
		wide := width(string([]rune(plain)[:at]))
		lines = append(lines, cut(text, 0, wide))
		text = strings.TrimLeft(cut(text, wide, width(text)), " ")
	}
	return append(lines, text)
}
