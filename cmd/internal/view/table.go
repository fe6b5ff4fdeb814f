package view

import (
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/agentform/agentform/internal/plaintext"
)

type column struct {
	title string
	wide  int // minimum width
	min   int // cut to this width at most; 0: never
	spare int // order of omission from a table that is too wide, the highest first; 0: never
	right bool
}

type cell struct {
	text string
	ink  ink
}

const gap = "  " // between columns

// glyphs returns the measure of text, the same in every locale.
func glyphs() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// table cuts columns with a min, the last one first, then omits those with a spare.
func (p *page) table(indent string, columns []column, rows [][]cell) {
	g := glyphs()
	widths, head := make([]int, len(columns)), make([]cell, len(columns))
	titled := false
	for i, c := range columns {
		head[i] = cell{c.title, bold}
		widths[i] = max(g.StringWidth(c.title), c.wide)
		titled = titled || c.title != ""
		for _, r := range rows {
			r[i].text = plaintext.OneLine(r[i].text)
			widths[i] = max(widths[i], g.StringWidth(r[i].text))
		}
	}
	if p.Width > 0 {
		shrink(columns, widths, p.Width-len(indent))
	}
	if titled {
		rows = append([][]cell{head}, rows...)
	}
	for _, r := range rows {
		p.row(g, indent, columns, widths, r)
	}
}

// fullTable writes cells in full. Paths are relative to dir.
func (p *page) fullTable(dir, indent string, columns []column, rows [][]cell) {
	style := p.Style
	p.Style = Style{Color: style.Color, Dir: dir}
	p.table(indent, columns, rows)
	p.Style = style
}

func (p *page) row(g *runewidth.Condition, indent string, columns []column, widths []int, r []cell) {
	p.WriteString(indent)
	owed := "" // spaces, written only before text, so that no line ends in them
	for i, c := range r {
		if widths[i] == 0 {
			continue
		}
		text := g.Truncate(c.text, widths[i], "…")
		pad := strings.Repeat(" ", max(widths[i]-g.StringWidth(text), 0))
		switch {
		case text == "":
			owed += pad + gap
		case columns[i].right:
			p.WriteString(owed + pad + p.paint(c.ink, text))
			owed = gap
		default:
			p.WriteString(owed + p.paint(c.ink, text))
			owed = pad + gap
		}
	}
	p.line()
}

func shrink(columns []column, widths []int, fit int) {
	total := -len(gap)
	for _, w := range widths {
		if w > 0 {
			total += w + len(gap)
		}
	}
	for i := len(columns) - 1; i >= 0 && total > fit; i-- {
		if c := columns[i]; c.min > 0 && widths[i] > c.min {
			cut := min(widths[i]-c.min, total-fit)
			widths[i] -= cut
			total -= cut
		}
	}
	for total > fit {
		next := -1
		for i, c := range columns {
			if c.spare > 0 && widths[i] > 0 && (next < 0 || c.spare > columns[next].spare) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		total -= widths[next] + len(gap)
		widths[next] = 0
	}
}
