package echo

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentform/agentform/session"
)

// Text recognizes a text that was typed, by a digest of each of its lines.
type Text struct {
	Salt  uint64 `json:"salt"`
	Lines []Line `json:"lines"`
	Whole Line   `json:"whole,omitzero"` // of all lines
}

// Line is one line of a text, without blanks.
type Line struct {
	Runes int    `json:"runes"`
	Sum   uint64 `json:"sum"`
	Tail  uint64 `json:"tail,omitempty"` // of the end of a long line, which may begin above the screen
}

const (
	// shortest is how many characters a line needs to be looked for.
	shortest = 4
	// short lines count only where they are all that a line of the screen shows.
	short = 16
	// most is how many lines of a text, the last ones, are looked for.
	most = 200
	// tail is how many characters of the end of a long line are looked for.
	tail = 64
	// apart is how many characters may be between two lines of a text: a program's sign.
	apart = 3
)

// Of returns what recognizes a text.
func Of(text string, salt uint64) Text {
	t := Text{Salt: salt}
	for line := range strings.Lines(text) {
		var chars []rune
		for _, r := range line {
			if counts(r) {
				chars = append(chars, r)
				t.Whole.Sum = t.add(t.Whole.Sum, r)
			}
		}
		t.Whole.Runes += len(chars)
		if len(chars) < shortest {
			continue
		}
		l := Line{Runes: len(chars), Sum: t.sum(chars)}
		if l.Runes > tail {
			l.Tail = t.sum(chars[l.Runes-tail:])
		}
		t.Lines = append(t.Lines, l)
	}
	t.Lines = t.Lines[max(0, len(t.Lines)-most):]
	return t
}

// Is reports whether another text is this one, whatever its blanks and line breaks.
func (t Text) Is(other string) bool { return Of(other, t.Salt).Whole == t.Whole }

// In returns how often another text has this one, whatever its blanks and line breaks.
func (t Text) In(other string) int {
	if t.Whole.Runes == 0 {
		return 0
	}
	n, end := 0, 0
	for _, m := range t.places(t.sums(glyphsOf(other)), t.Whole.Runes, t.Whole.Sum) {
		if m.from >= end {
			n, end = n+1, m.to
		}
	}
	return n
}

// Ends reports whether a screen ends with the text, or with the end of its last line if that
// is long.
func (t Text) Ends(screen string) bool {
	var chars []rune
	for _, g := range glyphsOf(screen) {
		chars = append(chars, g.char)
	}
	ends := func(runes int, sum uint64) bool {
		return runes <= len(chars) && t.sum(chars[len(chars)-runes:]) == sum
	}
	if len(t.Lines) == 0 {
		return false
	}
	last := t.Lines[len(t.Lines)-1]
	return ends(t.Whole.Runes, t.Whole.Sum) || last.Runes > tail && ends(tail, last.Tail)
}

func (t Text) sum(chars []rune) uint64 {
	sum := uint64(0)
	for _, r := range chars {
		sum = t.add(sum, r)
	}
	return sum
}

// counts reports whether a character is no blank and not part of a frame.
func counts(r rune) bool {
	return !unicode.IsSpace(r) && r != '\u00a0' && !unicode.IsControl(r) && !strings.ContainsRune("│┃║▌▐╭╮╰╯─━┌┐└┘▄▀", r)
}

// The digest is the value of a polynomial modulo a prime, at a place that the salt says.
const prime = 1<<61 - 1

func (t Text) base() uint64 { return t.Salt%(prime-1<<32) + 1<<32 }

func (t Text) add(sum uint64, r rune) uint64 { return (times(sum, t.base()) + uint64(r) + 1) % prime }

func times(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	_, rest := bits.Div64(hi%prime, lo, prime)
	return rest
}

// Without returns the screen with an ellipsis for each of the texts, in as many lines. The
// spans are the lines that show nothing but a text, with or without a sign before it.
func Without(screen string, texts []Text) (string, []session.Span) {
	if len(texts) == 0 {
		return screen, nil
	}
	g := glyphsOf(screen)
	hidden := make([]bool, len(g))
	var found []match
	for _, t := range texts {
		found = append(found, t.find(g)...)
	}
	for _, m := range found {
		for i := m.from; i < m.to; i++ {
			hidden[i] = true
		}
	}
	var b strings.Builder
	at, shown := 0, true
	for i := 0; i < len(g); i++ {
		if !hidden[i] {
			continue
		}
		last := i
		for last+1 < len(g) && hidden[last+1] && g[last+1].row == g[i].row {
			last++
		}
		b.WriteString(screen[at:g[i].at] + "…")
		at, i, shown = g[last].end, last, false
	}
	if shown {
		return screen, nil
	}
	return b.String() + screen[at:], spans(g, found)
}

// spans returns the lines of the isolated matches. Adjacent ones are one span.
func spans(g []glyph, found []match) []session.Span {
	slices.SortFunc(found, func(a, b match) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	var all []session.Span
	for i := 0; i < len(found); {
		whole := found[i]
		for i++; i < len(found) && found[i].from-whole.to <= apart && g[found[i].from].row-g[whole.to-1].row <= 1; i++ {
			whole.to = max(whole.to, found[i].to)
		}
		if alone(g, whole) {
			all = append(all, session.Span{First: g[whole.from].row, Last: g[whole.to-1].row})
		}
	}
	return all
}

// glyph is a character of a screen that counts.
type glyph struct {
	char    rune
	row     int
	at, end int // in the screen, in bytes
}

func glyphsOf(screen string) []glyph {
	var all []glyph
	row := 0
	for at, r := range screen {
		if r == '\n' {
			row++
		} else if counts(r) {
			all = append(all, glyph{r, row, at, at + utf8.RuneLen(r)})
		}
	}
	return all
}

// match is where a line of a text shows: some of the characters of a screen.
type match struct{ from, to int }

// find returns where the text is shown. A line of a longer text counts only next to another one,
// except for a first line that is not short: a program may show it for the whole.
func (t Text) find(g []glyph) []match {
	sums := t.sums(g)
	lines := make([][]match, len(t.Lines))
	var all []match
	for i, l := range t.Lines {
		lines[i] = t.places(sums, l.Runes, l.Sum)
		switch {
		case l.Runes < short:
			lines[i] = slices.DeleteFunc(lines[i], func(m match) bool { return !alone(g, m) })
		case i == 0:
			all = append(all, lines[i]...)
		}
		if l.Runes <= tail {
			continue
		}
		for _, m := range t.places(sums[:min(len(sums), l.Runes)], tail, l.Tail) { // the line begins above the screen
			lines[i] = append(lines[i], match{0, m.to})
			all = append(all, match{0, m.to})
		}
	}
	if len(lines) == 1 {
		return lines[0]
	}
	for i := 1; i < len(lines); i++ {
		for _, a := range lines[i-1] {
			for _, b := range lines[i] {
				if between := b.from - a.to; between >= 0 && between <= apart {
					all = append(all, a, b)
				}
			}
		}
	}
	return all
}

// sums returns the digests of the characters before each.
func (t Text) sums(g []glyph) []uint64 {
	sums := make([]uint64, len(g)+1)
	for i := range g {
		sums[i+1] = t.add(sums[i], g[i].char)
	}
	return sums
}

func (t Text) places(sums []uint64, runes int, sum uint64) []match {
	power := uint64(1)
	for range runes {
		power = times(power, t.base())
	}
	var all []match
	for from := 0; from+runes < len(sums); from++ {
		if (sums[from+runes]+prime-times(sums[from], power))%prime == sum {
			all = append(all, match{from, from + runes})
		}
	}
	return all
}

// alone reports whether a line of the screen shows only the match, and maybe a sign.
func alone(g []glyph, m match) bool {
	for i := m.from - 1; i >= 0 && g[i].row == g[m.from].row; i-- {
		if unicode.IsLetter(g[i].char) || unicode.IsDigit(g[i].char) {
			return false
		}
	}
	return m.to == len(g) || g[m.to].row != g[m.to-1].row
}
