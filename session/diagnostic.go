package session

import (
	"fmt"
	"slices"
	"strings"
)

// Severity of a Diagnostic.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Diagnostic is one problem of a manifest, a plan or a live session.
type Diagnostic struct {
	Code     string   `json:"-"` // the kind of problem, for other code
	Severity Severity `json:"severity"`
	Remedy   Remedy   `json:"-"`
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail,omitempty"`
	Address  Address  `json:"address,omitempty"`
	Range    *Range   `json:"range,omitempty"`
	Snippet  *Snippet `json:"snippet,omitempty"`
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
	Context string  `json:"context,omitempty"` // the enclosing block: session "api"
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

// Error returns file, line, summary and detail in one line.
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
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}
