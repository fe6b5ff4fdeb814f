package view

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Diagnostics writes problems in full: in color each in a box, otherwise each after a blank line.
func Diagnostics(w io.Writer, s Style, ds []session.Diagnostic) error {
	p := &page{Style: s}
	for _, d := range ds {
		writeDiagnostic(p, d)
	}
	return p.flush(w)
}

// Errors writes errors as Diagnostics does, joined ones separately.
func Errors(w io.Writer, s Style, errs ...error) error {
	return Diagnostics(w, s, diagnosticsOf(errs))
}

func diagnosticsOf(errs []error) []session.Diagnostic {
	var ds []session.Diagnostic
	for _, err := range flat(errs) {
		var d session.Diagnostic
		if !errors.As(err, &d) {
			d.Severity = session.Error
			d.Summary, d.Detail, _ = strings.Cut(err.Error(), "\n")
		}
		ds = append(ds, d)
	}
	return ds
}

func flat(errs []error) (all []error) {
	for _, err := range errs {
		// An outer error has its own text for a list.
		if e, list := err.(interface{ WrappedErrors() []error }); list {
			all = append(all, flat(e.WrappedErrors())...)
		} else if e, list := err.(interface{ Unwrap() []error }); list && err.Error() == errors.Join(e.Unwrap()...).Error() {
			all = append(all, flat(e.Unwrap())...)
		} else if err != nil {
			all = append(all, err)
		}
	}
	return all
}

func writeDiagnostic(p *page, d session.Diagnostic) {
	word, color := "Error", red
	if d.Severity == session.Warning {
		word, color = "Warning", yellow
	}
	left := ""
	if p.Color {
		left = p.paint(color, "│") + " "
		p.line(p.paint(color, "╷"))
	} else {
		p.blank()
	}
	say := func(painted string) { p.line(strings.TrimRight(left+painted, " ")) }

	head, rest := headAndRest(d.Summary)
	for _, l := range wrap(p, p.paint(color, word+":")+" "+p.paint(bold, head), 2) {
		say(l)
	}
	for _, l := range rest {
		for _, l := range wrap(p, p.paint(noInk, l), 2) {
			say(l)
		}
	}
	for _, l := range location(p, d) {
		say(l)
	}
	// Commands are below the frame, each on its own line, so that they can be copied.
	prose, commands := d.Detail, []string(nil)
	if p.Color {
		prose, commands = withoutCommands(d.Detail)
	}
	if prose != "" {
		say("")
		for _, l := range wrap(p, p.paint(noInk, prose), 2) {
			say(l)
		}
	}
	if p.Color {
		p.line(p.paint(color, "╵"))
	}
	for _, l := range commands {
		p.prose(0, unbrokenCommand(p.paint(noInk, l)))
	}
}

var command = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|: )\s*(?:git (?:-C|init|worktree|switch|branch|fetch)|(?:agentform|mv|cp|sudo|apt-get) [^ ])`)
})

func withoutCommands(text string) (prose string, commands []string) {
	var rest []string
	for line := range strings.SplitSeq(plaintext.Safe(text), "\n") {
		if command().MatchString(line) {
			commands = append(commands, line)
		} else {
			rest = append(rest, line)
		}
	}
	return strings.Trim(strings.Join(rest, "\n"), "\n"), commands
}

func location(p *page, d session.Diagnostic) (lines []string) {
	switch {
	case d.Range != nil:
		at := fmt.Sprintf("  on %s line %d", d.Range.Filename, d.Range.Start.Line)
		if d.Snippet == nil {
			return []string{"", p.paint(noInk, at)}
		}
		if d.Snippet.Context != "" {
			at += ", in " + d.Snippet.Context
		}
		return append([]string{"", p.paint(noInk, at+":")}, snippetLines(p, *d.Snippet)...)
	case d.Address != "":
		return []string{"", p.paint(noInk, "  with "+string(d.Address))}
	}
	return nil
}

func snippetLines(p *page, s session.Snippet) (lines []string) {
	offset := 0 // of the line's first byte in the code
	for i, code := range strings.Split(strings.TrimRight(s.Code, "\n"), "\n") {
		lines = append(lines, p.paint(dim, fmt.Sprintf("  %4d: ", s.Line+i))+p.paint(noInk, tabless(code)))
		from, to := max(s.From-offset, 0), min(s.To-offset, len(strings.TrimRight(code, " \t\r")))
		if from < to {
			g := glyphs()
			before, marked := g.StringWidth(tabless(plaintext.Safe(code[:from]))), g.StringWidth(tabless(plaintext.Safe(code[from:to])))
			lines = append(lines, strings.Repeat(" ", 8+before)+p.paint(red, strings.Repeat("^", max(marked, 1))))
		}
		offset += len(code) + 1
	}
	if len(s.Values) == 0 {
		return lines
	}
	lines = append(lines, p.paint(dim, "    ├────────────────"))
	for _, v := range s.Values {
		lines = append(lines, p.paint(dim, "    │ ")+p.paint(bold, v.Traversal)+" "+p.paint(noInk, plaintext.OneLine(v.Statement)))
	}
	return lines
}

func tabless(s string) string { return strings.ReplaceAll(s, "\t", "  ") }

// wrap keeps indented lines and commands unbroken.
func wrap(p *page, painted string, margin int) (lines []string) {
	narrow := Style{}
	if p.Width > 0 {
		narrow.Width = max(p.Width-margin, 20)
	}
	for l := range strings.SplitSeq(strings.TrimRight(painted, "\n"), "\n") {
		if strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t") {
			lines = append(lines, l)
		} else {
			lines = append(lines, narrow.fold(unbrokenCommand(l), 0)...)
		}
	}
	return lines
}

// unbrokenCommand marks a painted line's command, which is the line or its end, as unbroken.
func unbrokenCommand(painted string) string {
	at := command().FindStringIndex(painted)
	if at == nil {
		return painted
	}
	begin := at[0]
	if strings.HasPrefix(painted[begin:], ": ") {
		begin += 2
	}
	return painted[:begin] + unbroken(painted[begin:])
}

func headAndRest(s string) (head string, rest []string) {
	lines := strings.Split(strings.TrimRight(LocalTimes(plaintext.Safe(s), time.Now()), "\n"), "\n")
	return strings.TrimSpace(lines[0]), lines[1:]
}
