package session

import (
	"fmt"
	"strings"
)

// Severity of a Diagnostic.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Diagnostic is one problem, told to a person and to programs: found in a
// manifest, in a plan or in the live world.
type Diagnostic struct {
	// Code says what kind of problem it is, for other code; empty: none in
	// particular.
	Code     string   `json:"-"`
	Severity Severity `json:"severity"`
	// Remedy is what would fix the problem.
	Remedy  Remedy   `json:"-"`
	Summary string   `json:"summary"`
	Detail  string   `json:"detail,omitempty"`
	Address Address  `json:"address,omitempty"`
	Range   *Range   `json:"range,omitempty"`
	Snippet *Snippet `json:"snippet,omitempty"`
}

// Range is a place in a file.
type Range struct {
	Filename string `json:"filename"`
	Start    Pos    `json:"start"`
	End      Pos    `json:"end"`
}

// Pos is a position in a file: line and column count from 1, byte from 0.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Snippet is the source that a diagnostic is about.
type Snippet struct {
	Context string  `json:"context,omitempty"` // the block it stands in: session "api"
	Code    string  `json:"code"`              // whole lines
	Line    int     `json:"start_line"`
	From    int     `json:"highlight_start_offset"` // in Code, bytes
	To      int     `json:"highlight_end_offset"`
	Values  []Value `json:"values,omitempty"`
}

// Value is a variable of the faulty expression and what it was.
type Value struct {
	Traversal string `json:"traversal"`
	Statement string `json:"statement"` // is "main"
}

// Error makes a Diagnostic an error: file, line, summary and detail in one
// line.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if d.Range != nil {
		fmt.Fprintf(&b, "%s:%d: ", d.Range.Filename, d.Range.Start.Line)
	} else if d.Address != "" {
		b.WriteString(string(d.Address) + ": ")
	}
	b.WriteString(d.Summary)
	if d.Detail != "" {
		b.WriteString(": " + d.Detail)
	}
	return b.String()
}

// HasErrors reports whether any of the diagnostics is an error.
func HasErrors(ds []Diagnostic) bool {
	for _, d := range ds {
		if d.Severity == Error {
			return true
		}
	}
	return false
}
