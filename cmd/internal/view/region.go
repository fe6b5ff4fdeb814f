package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentform/agentform/internal/plaintext"
)

// Region is the part of a terminal that shows a changing text. The cursor is hidden only while
// drawing, so that an exit at any time needs no cleanup.
type Region struct {
	w     io.Writer
	text  string
	lines []string // as drawn
	width int
	tall  int
}

// NewRegion returns a region at the cursor of the terminal w.
func NewRegion(w io.Writer) *Region { return &Region{w: w} }

// Draw replaces the text. If the new text does not fit, lines before the last are omitted.
func (r *Region) Draw(text string, width, rows int) error {
	if text == r.text && width == r.width && rows == r.tall {
		return nil
	}
	lines := fitting(strings.Split(strings.TrimRight(text, "\n"), "\n"), width, rows)
	var b strings.Builder
	b.WriteString("\x1b[?25l")
	switch {
	case r.lines == nil:
	case width != r.width || rows != r.tall:
		// The new place of the old lines is unknown.
		b.WriteString("\x1b[H\x1b[2J")
	default:
		up := 0
		for _, l := range r.lines {
			up += height(l, width)
		}
		fmt.Fprintf(&b, "\r\x1b[%dA", up)
	}
	for _, l := range lines {
		b.WriteString(l + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J\x1b[?25h")
	r.text, r.lines, r.width, r.tall = text, lines, width, rows
	_, err := io.WriteString(r.w, b.String())
	return err
}

// fitting leaves a row for the cursor, and omits lines before the last.
func fitting(lines []string, width, rows int) []string {
	total := 0
	for _, l := range lines {
		total += height(l, width)
	}
	if rows <= 0 || total < rows || len(lines) < 2 {
		return lines
	}
	last := lines[len(lines)-1]
	room := rows - 2 - height(last, width) // without the cursor's row and the omission's
	var shown []string
	for _, l := range lines[:len(lines)-1] {
		if room -= height(l, width); room < 0 {
			break
		}
		shown = append(shown, l)
	}
	return append(shown, fmt.Sprintf("… %s more", plaintext.Count(len(lines)-1-len(shown), "line")), last)
}

// Rows returns how many lines of a terminal a painted text takes.
func Rows(text string, width int) (rows int) {
	for line := range strings.Lines(text) {
		rows += height(strings.TrimRight(line, "\n"), width)
	}
	return rows
}

func height(line string, width int) int {
	if width <= 0 {
		return 1
	}
	g := glyphs()
	rows, column := 1, 0
	for _, r := range plaintext.Sequence.ReplaceAllLiteralString(line, "") {
		w := g.RuneWidth(r)
		if column+w > width {
			rows, column = rows+1, 0
		}
		column += w
	}
	return rows
}
