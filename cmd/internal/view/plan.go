package view

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Plan writes a plan as text; with full, including unchanged sessions and attributes.
func Plan(w io.Writer, s Style, pl plan.Plan, full bool) error {
	p, body := &page{Style: s}, &page{Style: s}
	inline, boxed := splitProblems(pl.Problems)
	listed := map[session.Address]bool{} // sessions with their own line
	for a := range inline {
		listed[a] = true
	}
	errs := len(inline) > 0
	for _, c := range pl.Changes {
		listed[c.Address] = listed[c.Address] || c.Action != plan.None
		writeChange(body, c, pl.At, full, inline[c.Address])
		delete(inline, c.Address)
	}
	for _, d := range pl.Problems { // sessions without a change
		writeErrors(body, inline[d.Address])
		delete(inline, d.Address)
	}
	writeDrift(p, pl.Drift, listed)
	if body.Len() > 0 {
		writeLegend(p, pl, errs)
		p.line(body.String())
	}
	for _, d := range boxed {
		writeDiagnostic(p, d)
	}
	if len(boxed) > 0 {
		p.blank()
	}
	if !pl.Complete {
		p.line(p.paint(yellow, "Plan is incomplete: not everything could be inspected."))
	}
	p.prose(0, p.paint(bold, planSummary(pl)))
	if more := undeclared(pl); more != "" {
		p.prose(0, unbrokenCommand(more))
	}
	return p.flush(w)
}

// splitProblems separates errors that fit into a session's lines from other problems.
func splitProblems(all []session.Diagnostic) (inline map[session.Address][]session.Diagnostic, boxed []session.Diagnostic) {
	inline = map[session.Address][]session.Diagnostic{}
	for _, d := range all {
		if d.Severity == session.Error && d.Address != "" && d.Range == nil {
			inline[d.Address] = append(inline[d.Address], d)
		} else {
			boxed = append(boxed, d)
		}
	}
	return inline, boxed
}

func writeChange(p *page, c plan.Change, now time.Time, full bool, errs []session.Diagnostic) {
	switch {
	case c.Action != plan.None:
		head, rest := headAndRest(sinceLifted(c.Detail, c, now))
		p.prose(6, "  "+p.paint(actionInks[c.Action], c.Action.Symbol())+" "+p.paint(bold, string(c.Address)),
			previousAddress(p, c), " ", willBe(c), until(c, now), because(p, head), interrupts(p, c, now))
		for _, l := range rest {
			p.prose(6, "      ", unbrokenCommand(p.paint(noInk, l)))
		}
		writeAttributes(p, c, full)
	case landed(c):
		p.prose(6, "  "+p.paint(green, "✓")+" "+p.paint(bold, string(c.Address)), previousAddress(p, c), " ", p.paint(noInk, plaintext.OneLine(c.Detail)))
		if full {
			writeAttributes(p, c, true)
		}
	case c.Action == plan.None && c.Reason == plan.ReasonFallback:
		p.prose(6, "  "+p.paint(yellow, "»")+" "+p.paint(bold, string(c.Address)), previousAddress(p, c), " ", p.paint(noInk, plaintext.OneLine(c.Detail)))
		if full {
			writeAttributes(p, c, true)
		}
	case full && len(errs) == 0 && c.Reason != plan.ReasonNotTargeted:
		state := previousAddress(p, c) + " is unchanged"
		if c.Before == nil && c.Live == nil {
			state = " does not exist"
		}
		p.prose(6, "    "+p.paint(bold, string(c.Address)), state, because(p, c.Detail))
		writeAttributes(p, c, true)
	}
	writeErrors(p, errs)
}

// landed reports whether a session has no action because its work was landed.
func landed(c plan.Change) bool {
	return c.Action == plan.None && c.Reason == plan.ReasonFinished && c.Before != nil && c.Before.Landed != nil
}

func previousAddress(p *page, c plan.Change) string {
	if c.Moved == "" {
		return ""
	}
	return p.paint(noInk, " (was "+string(c.Moved)+")")
}

func writeErrors(p *page, errs []session.Diagnostic) {
	for _, d := range errs {
		head, rest := headAndRest(d.Detail)
		text := plaintext.OneLine(d.Summary)
		if head != "" {
			text += ": " + head
		}
		p.prose(6, "  "+p.paint(red, "!")+" "+p.paint(bold, string(d.Address))+unbrokenCommand(p.paint(red, ": "+text)))
		for _, l := range rest {
			p.prose(6, "      ", unbrokenCommand(p.paint(noInk, l)))
		}
	}
}

func until(c plan.Change, now time.Time) string {
	if c.Action != plan.Hold || c.Until.IsZero() {
		return ""
	}
	in := since(c.Until, now) // no hub is running to lift it
	if c.Until.After(now) {
		in = "in " + plaintext.Age(c.Until.Sub(now))
	}
	return " until " + clock(c.Until, now) + " (" + in + ")"
}

func interrupts(p *page, c plan.Change, now time.Time) string {
	if c.Interrupts == nil {
		return ""
	}
	does := string(c.Interrupts.Activity)
	if since := c.Interrupts.For(now); since > 0 {
		does += " for " + plaintext.Age(since)
	}
	if limit := c.TurnLimit.D(); limit > 0 {
		return p.paint(yellow, " ("+does+": its turn may end first, for at most "+plaintext.Age(limit)+")")
	}
	return p.paint(yellow, " ("+does+": its turn will be interrupted)")
}

// sinceLifted replaces the time of the override that a change lifts.
func sinceLifted(reason string, c plan.Change, now time.Time) string {
	if c.Lifts == nil {
		return reason
	}
	at := c.Lifts.At
	return strings.Replace(reason, "at "+at.UTC().Format(time.RFC3339), since(at, now), 1)
}

func since(t, now time.Time) string {
	if d := now.Sub(t); d >= time.Second {
		return plaintext.Age(d) + " ago"
	}
	return "just now"
}

func because(b *page, reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + b.paint(noInk, plaintext.OneLine(reason))
}

// ActionWords returns the past participle of a plan's action: created, restarted.
func ActionWords(c plan.Change) string {
	return strings.TrimPrefix(strings.TrimPrefix(willBe(c), "will be "), "is ")
}

func willBe(c plan.Change) string {
	if c.Action == plan.Hold {
		return "is held"
	}
	text := "will be " + status.VerbOf(c.Action).Done
	if c.Action == plan.Update {
		text += " in place"
	}
	if c.Then.Acts() {
		text += ", then " + status.VerbOf(c.Then).Done
	}
	return text
}

func writeDrift(p *page, drift []plan.Drift, listed map[session.Address]bool) {
	var rows [][]cell
	for _, d := range drift {
		if !listed[d.Address] || d.Kind == plan.Orphaned {
			rows = append(rows, []cell{{string(d.Address), bold}, {KindWords(d.Kind), yellow}, {d.Detail, noInk}})
		}
	}
	if len(rows) > 0 {
		p.line(p.paint(bold, "Objects have changed outside of agentform:"), "\n")
		p.fullTable("", "  ", make([]column, 3), rows)
		p.line()
	}
}

func writeLegend(p *page, pl plan.Plan, errs bool) {
	var parts []string
	does := map[plan.Action]string{plan.Update: "update in place", plan.Delete: "destroy", plan.Pause: "pause, resume or stop", plan.Hold: "held"}
	for _, a := range []plan.Action{
		plan.Create, plan.Update, plan.Restart, plan.Replace, plan.Delete, plan.Adopt, plan.Forget, plan.Pause, plan.Hold,
	} {
		if slices.ContainsFunc(pl.Changes, func(c plan.Change) bool { return c.Action != plan.None && c.Action.Symbol() == a.Symbol() }) {
			parts = append(parts, p.paint(actionInks[a], a.Symbol())+unbroken(" "+cmp.Or(does[a], status.VerbOf(a).Plain)))
		}
	}
	if slices.ContainsFunc(pl.Changes, landed) {
		parts = append(parts, p.paint(green, "✓")+" landed")
	}
	if errs {
		parts = append(parts, p.paint(red, "!")+" error")
	}
	if len(parts) > 0 {
		p.prose(10, "Symbols:  "+strings.Join(parts, "   "))
		p.line()
	}
}

var actionInks = map[plan.Action]ink{
	plan.Create: green, plan.Update: yellow, plan.Restart: yellow, plan.Replace: magenta, plan.Delete: red, plan.Adopt: cyan,
	plan.Pause: blue, plan.Resume: blue, plan.Stop: blue, plan.Forget: dim, plan.Hold: dim,
}
