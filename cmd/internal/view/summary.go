package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// PlanVerdict returns the last line of a plan.
func PlanVerdict(p plan.Plan) string {
	if n := p.Summary().Errors; n > 0 && len(p.Changes) == 0 && len(p.Drift) == 0 {
		return "No plan: " + plaintext.Count(n, "error") + "."
	}
	return planSummary(p)
}

func planSummary(p plan.Plan) string {
	s := p.Summary()
	if s.Errors == 0 && s.Hold == 0 && !p.Acts() {
		return nothingToDo(p)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Plan: %d to create, %d to update, %d to restart, %d to replace, %d to destroy",
		s.Create, s.Update, s.Restart, s.Replace, s.Delete)
	for _, more := range []struct {
		n    int
		word string
	}{
		{s.Pause, "to pause"}, {s.Resume, "to resume"}, {s.Stop, "to stop"},
		{s.Adopt, "to adopt"}, {s.Forget, "to forget"}, {s.Hold, "held"},
	} {
		if more.n > 0 {
			fmt.Fprintf(&b, ", %d %s", more.n, more.word)
		}
	}
	b.WriteString(".")
	if s.Errors > 0 {
		b.WriteString(" " + plaintext.Count(s.Errors, "error") + ".")
	}
	keeps := 0
	for _, c := range p.Changes {
		if c.Keeps != "" {
			keeps++
		}
	}
	if keeps > 0 {
		b.WriteString(" Work is kept in " + plaintext.Count(keeps, "workspace") + ".")
	}
	return b.String()
}

func nothingToDo(p plan.Plan) string {
	if p.Options.Destroy {
		return "No changes. There is nothing to destroy."
	}
	n, unknown, elsewhere := 0, 0, 0
	drifted := map[session.Address]bool{}
	for _, d := range p.Drift {
		drifted[d.Address] = true
	}
	for _, c := range p.Changes {
		switch {
		case c.After == nil || c.Reason == plan.ReasonNotTargeted:
		case c.Reason == plan.ReasonElsewhere && !drifted[c.Address]:
			elsewhere++
		case c.State == session.StateUnknown:
			unknown++
		default:
			n++
		}
	}
	away := ""
	if elsewhere > 0 {
		away = fmt.Sprintf(", %d on other machines", elsewhere)
	}
	if p.Options.RefreshOnly {
		switch {
		case len(p.Drift) > 0:
			return "No changes planned. " + plaintext.Count(len(p.Drift), "difference") + " between the running sessions and the state" + away + "."
		case n+unknown == 0 && elsewhere > 0:
			return "No changes planned. No running session was inspected" + away + "."
		}
		return "No changes. The running sessions match the state" + away + "."
	}
	matches := fmt.Sprintf("No changes. %d sessions match the manifest", n)
	if n == 1 {
		matches = "No changes. 1 session matches the manifest"
	}
	if unknown > 0 {
		matches += fmt.Sprintf(", %d could not be inspected", unknown)
	}
	return matches + away + "."
}

// undeclared returns how many sessions are in the state and not in the manifest.
func undeclared(p plan.Plan) string {
	if p.Options.Destroy || p.Options.RefreshOnly {
		return ""
	}
	n, ended := 0, 0
	for _, c := range p.Changes {
		if c.Before == nil || c.After != nil {
			continue
		}
		n++
		if c.Action.Acts() {
			ended++
		}
	}
	if n == 0 || n == ended { // a change already shows it
		return ""
	}
	are := "are"
	if n == 1 {
		are = "is"
	}
	more := ""
	if ended > 0 {
		more = fmt.Sprintf(", %d of them to destroy or forget", ended)
	}
	return plaintext.Count(n, "session") + " " + are + " in the state and not in the manifest" + more + ". To declare them: agentform plan --generate-config-out=FILE"
}

// Tally is the outcome of a command that changes sessions.
type Tally struct {
	Command               string // the start of the last line: Apply, Destroy, Stop; empty: Apply
	Done, Failed, Skipped int    // sessions
	Held                  int    // with an approved start that waits
	Errors                []error
	Elapsed               time.Duration // of the whole command; only in JSON
}

// Summary writes errors, then the tally. Errors that were already reported take one line.
func Summary(w io.Writer, s Style, t Tally) error {
	p := &page{Style: s}
	writeReported(p, t.Errors)
	word, color := "complete!", green
	if t.Failed > 0 || t.Skipped > 0 || len(t.Errors) > 0 {
		word, color = "incomplete:", red
	}
	p.blank()
	waiting := ""
	if t.Held > 0 {
		waiting = fmt.Sprintf(", %d held", t.Held)
	}
	p.line(p.paint(color, fmt.Sprintf("%s %s %d done, %d failed, %d skipped%s.", cmp.Or(t.Command, "Apply"), word, t.Done, t.Failed, t.Skipped, waiting)))
	return p.flush(w)
}

// Valid writes the diagnostics of a manifest, and how many sessions it declares.
func Valid(w io.Writer, s Style, sessions int, ds []session.Diagnostic) error {
	p := &page{Style: s}
	for _, d := range ds {
		writeDiagnostic(p, d)
	}
	if len(ds) > 0 {
		p.blank()
	}
	errs, warnings := status.Severities(ds)
	if len(errs) > 0 {
		p.line(p.paint(red, "The manifest is not valid: "+problemCounts(len(errs), len(warnings))))
		return p.flush(w)
	}
	p.WriteString(p.paint(green, "Success!") + " The manifest is valid: " + plaintext.Count(sessions, "session") + ".")
	if len(warnings) > 0 {
		p.WriteString(" " + p.paint(yellow, problemCounts(0, len(warnings))))
	}
	p.line()
	return p.flush(w)
}

func problemCounts(errs, warnings int) string {
	var parts []string
	if errs > 0 {
		parts = append(parts, plaintext.Count(errs, "error"))
	}
	if warnings > 0 {
		parts = append(parts, plaintext.Count(warnings, "warning"))
	}
	return strings.Join(parts, ", ") + "."
}
