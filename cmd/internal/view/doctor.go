package view

import (
	"io"
	"strings"

	"github.com/agentform/agentform/cmd/internal/doctor"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
)

// Doctor writes findings, each with its remedy, and the number of problems.
func Doctor(w io.Writer, s Style, findings []doctor.Finding) error {
	p := &page{Style: s}
	g := glyphs()
	width := 0
	for _, f := range findings {
		width = max(width, g.StringWidth(plaintext.OneLine(f.Subject)))
	}
	for _, f := range findings {
		sign, color := sign(f.Level)
		subject := plaintext.OneLine(f.Subject)
		pad := strings.Repeat(" ", width-g.StringWidth(subject))
		head, rest := headAndRest(f.Problem)
		p.line(strings.TrimRight(p.paint(color, sign)+" "+p.paint(bold, subject)+pad+gap+p.paint(noInk, head), " "))
		indent := strings.Repeat(" ", 2+width) + gap
		for _, l := range rest {
			p.line(indent, p.paint(noInk, l))
		}
		if f.Remedy != "" {
			head, rest := headAndRest(f.Remedy)
			p.line(indent, p.paint(cyan, "→ "+head))
			for _, l := range rest {
				p.line(indent, "  ", p.paint(cyan, l))
			}
		}
	}
	p.line()
	warnings, faults := levels(findings)
	switch {
	case faults > 0:
		p.line(p.paint(red, problemCounts(faults, warnings)))
	case warnings > 0:
		p.line(p.paint(yellow, problemCounts(0, warnings)))
	default:
		p.line(p.paint(green, "No problems found."))
	}
	return p.flush(w)
}

func sign(l doctor.Level) (string, ink) {
	switch l {
	case doctor.Fault:
		return "✗", red
	case doctor.Warning:
		return "!", yellow
	}
	return "✓", green
}

func levels(findings []doctor.Finding) (warnings, faults int) {
	for _, f := range findings {
		switch f.Level {
		case doctor.Warning:
			warnings++
		case doctor.Fault:
			faults++
		}
	}
	return warnings, faults
}

// DoctorJSON writes findings as one document.
func DoctorJSON(w io.Writer, findings []doctor.Finding) error {
	warnings, faults := levels(findings)
	return document(w, "error_count", faults, "warning_count", warnings, "findings", wire.List(findings))
}
