package view

import (
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/agentform/agentform/internal/plaintext"
)

// Style formats text. The zero value is plain text of any width.
type Style struct {
	Color bool
	Width int    // columns of the terminal; 0: not a terminal, nothing is cut or wrapped
	Rows  int    // of the terminal; 0: not a terminal
	Dir   string // the base of relative paths; empty: none
}

// StyleFor returns the style for a writer: color and width only if it is a terminal, and no color
// with NO_COLOR or TERM=dumb.
func StyleFor(w io.Writer, noColor bool, environ []string) Style {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Style{}
	}
	s := Style{Color: !noColor}
	for _, e := range environ {
		if k, v, _ := strings.Cut(e, "="); k == "NO_COLOR" && v != "" || k == "TERM" && v == "dumb" {
			s.Color = false
		}
	}
	if width, rows, err := term.GetSize(int(f.Fd())); err == nil {
		s.Width, s.Rows = width, rows
	}
	return s
}

type ink string

const (
	noInk   ink = ""
	bold    ink = "1"
	dim     ink = "2"
	red     ink = "31"
	green   ink = "32"
	yellow  ink = "33"
	blue    ink = "34"
	magenta ink = "35"
	cyan    ink = "36"
)

// paint sanitizes text. Only paint and Region emit escape sequences.
func (s Style) paint(c ink, text string) string {
	text = s.Near(plaintext.Safe(text))
	if !s.Color || c == noInk || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Near returns a text with the paths below the reader's directory made relative.
func (s Style) Near(text string) string {
	dir := s.Dir + "/"
	if s.Dir == "" || s.Dir == "/" || !strings.Contains(text, dir) {
		return text
	}
	var b strings.Builder
	for rest := text; ; {
		i := strings.Index(rest, dir)
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(rest[:i])
		begins := len(text) == len(rest) && i == 0 || i > 0 && strings.ContainsRune(" \t\n\"'(=:", rune(rest[i-1]))
		if !begins {
			b.WriteString(dir)
		}
		rest = rest[i+len(dir):]
	}
}

// page is output that is written at once, so that concurrent pages do not mix.
type page struct {
	Style
	strings.Builder
}

func (p *page) line(painted ...string) {
	for _, s := range painted {
		p.WriteString(s)
	}
	p.WriteByte('\n')
}

// prose writes a line of words, wrapped to the terminal. Later lines are indented by hang.
func (p *page) prose(hang int, painted ...string) {
	margin := strings.Repeat(" ", hang)
	for i, l := range p.fold(strings.Join(painted, ""), hang) {
		if i > 0 {
			l = margin + l
		}
		p.line(l)
	}
}

// unbroken returns a painted text, such as a command to copy, that fold keeps on one line. Painted
// texts otherwise contain no NUL.
func unbroken(painted string) string { return strings.ReplaceAll(painted, " ", "\x00") }

// fold breaks a painted line at spaces to fit the terminal; later parts leave room for a margin. A
// wider word gets its own line, unless that gains nothing.
func (s Style) fold(painted string, margin int) (lines []string) {
	if s.Width == 0 {
		return []string{strings.TrimRight(strings.ReplaceAll(painted, "\x00", " "), " ")}
	}
	words := strings.Split(painted, " ")
	g := glyphs()
	row, used, text := "", 0, false
	for i, word := range words {
		n := g.StringWidth(plaintext.Sequence.ReplaceAllLiteralString(strings.ReplaceAll(word, "\x00", " "), ""))
		switch {
		case i == 0:
			row, used = word, n
		case text && n > 0 && used+1+n > s.Width && used >= margin:
			lines = append(lines, strings.TrimRight(row, " "))
			row, used, text = word, margin+n, false
		default:
			row += " " + word
			used += 1 + n
		}
		text = text || n > 0
	}
	lines = append(lines, strings.TrimRight(row, " "))
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "\x00", " ")
	}
	return lines
}

// Prose writes a line, wrapped to the terminal. A command at its end, after a colon, is not broken.
func Prose(w io.Writer, s Style, text string) error {
	p := &page{Style: s}
	p.prose(0, unbrokenCommand(p.paint(noInk, text)))
	return p.flush(w)
}

// blank ends the text with one empty line.
func (p *page) blank() {
	if !strings.HasSuffix(p.String(), "\n\n") {
		p.line()
	}
}

func (p *page) flush(w io.Writer) error {
	_, err := io.WriteString(w, p.String())
	return err
}
