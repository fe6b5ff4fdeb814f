package ui

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

var colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

// runes measures text alike in every locale.
var runes = &runewidth.Condition{StrictEmojiNeutral: true}

// width returns the number of columns of a painted text.
func width(text string) (n int) {
	for _, r := range colors.ReplaceAllLiteralString(text, "") {
		n += runes.RuneWidth(r)
	}
	return n
}

// cut returns some columns of a painted text, from one on, with their colors. It omits half
// characters.
func cut(text string, from, columns int) string {
	var b strings.Builder
	at := 0
	for text != "" && at < from+columns {
		if n := colorAt(text); n > 0 {
			b.WriteString(text[:n])
			text = text[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		w := runes.RuneWidth(r)
		if at >= from && at+w <= from+columns {
			b.WriteRune(r)
		}
		at, text = at+w, text[size:]
	}
	for _, color := range colors.FindAllString(text, -1) {
		b.WriteString(color)
	}
	return b.String()
}

// colorAt returns the length of the color at the start of a painted text; 0: none.
func colorAt(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	n := len("\x1b[")
	for n < len(text) && (text[n] == ';' || text[n] >= '0' && text[n] <= '9') {
		n++
	}
	if n < len(text) && text[n] == 'm' {
		return n + 1
	}
	return 0
}

// shorten cuts a painted text to a width and appends … to it.
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

// fit shortens or pads a painted text to a width.
func fit(text string, columns int) string {
	text = shorten(text, columns)
	return text + strings.Repeat(" ", max(columns-width(text), 0))
}

// wrap breaks a painted text into lines of a maximum width, preferably at spaces. It reads the text
// once, since an agent's line can be a megabyte.
func wrap(text string, columns int) (lines []string) {
	const reset = "\x1b[0m"
	var b strings.Builder
	color := ""                       // in force
	at, glyphs := 0, 0                // columns and characters of the line
	space, spaceGlyph := -1, 0        // its last space, in b and in characters
	spaceAt, spaceColor := 0, ""      // the columns before that, and its color
	end := func(line, color string) { // ends a line, perhaps within a color
		if color != "" {
			line += reset
		}
		lines = append(lines, line)
	}
	for text != "" {
		if n := colorAt(text); n > 0 {
			b.WriteString(text[:n])
			if color += text[:n]; text[:n] == reset || text[:n] == "\x1b[m" {
				color = ""
			}
			text = text[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		w := runes.RuneWidth(r)
		if at+w > columns && glyphs > 0 {
			line, rest := b.String(), ""
			if space >= 0 && spaceGlyph > glyphs/2 && r != ' ' {
				line, rest = line[:space], spaceColor+line[space+1:]
				at, glyphs = at-spaceAt-1, glyphs-spaceGlyph-1
				end(line, spaceColor)
			} else {
				rest, at, glyphs = color, 0, 0
				end(line, color)
			}
			b.Reset()
			b.WriteString(rest)
			space = -1
		}
		if r == ' ' && glyphs == 0 && len(lines) > 0 {
			text = text[size:]
			continue
		}
		if r == ' ' {
			space, spaceGlyph, spaceAt, spaceColor = b.Len(), glyphs, at, color
		}
		b.WriteString(text[:size])
		at, glyphs, text = at+w, glyphs+1, text[size:]
	}
	return append(lines, b.String())
}
