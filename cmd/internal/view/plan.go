package view

import (
	"io"
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// PlanOptions say how much of a plan is written.
type PlanOptions struct {
	Full bool // unchanged sessions and attributes as well (--detail=full)
}

// Plan writes a plan for people: a legend of the symbols used, each session
// that changes with the reason and the attributes that change, what is wrong,
// and last the summary.
func Plan(w io.Writer, s Style, p plan.Plan, o PlanOptions) error {
	b := planPage{page: &page{Style: s}, plan: p, options: o, told: map[session.Address]bool{}}
	b.write()
	return b.flush(w)
}

// planPage is a plan being written.
type planPage struct {
	*page
	plan    plan.Plan
	options PlanOptions
	told    map[session.Address]bool // sessions that have a line of their own
}

func (p *planPage) write() {
	inLine, boxed := p.problems()
	var body page
	body.Style = p.Style
	for _, c := range p.plan.Changes {
		p.change(&body, c, inLine[c.Address])
		delete(inLine, c.Address)
	}
	for _, d := range p.plan.Problems { // of sessions that the plan has no change for
		if ds := inLine[d.Address]; len(ds) > 0 {
			p.mismatch(&body, ds)
			delete(inLine, d.Address)
		}
	}
	p.drift()
	if body.Len() > 0 {
		p.legend()
		p.line(body.String())
	}
	for _, d := range boxed {
		p.diagnostic(d)
	}
	if len(boxed) > 0 {
		p.blank()
	}
	if !p.plan.Complete {
		p.line(p.paint(yellow, "This plan is not complete: not everything could be looked at."))
	}
	p.line(p.paint(bold, planSummary(p.plan)))
}

// problems parts the errors that a session's own line tells from the problems
// that need more room.
func (p *planPage) problems() (inLine map[session.Address][]session.Diagnostic, boxed []session.Diagnostic) {
	inLine = map[session.Address][]session.Diagnostic{}
	for _, d := range p.plan.Problems {
		if d.Severity == session.Error && d.Address != "" && d.Range == nil {
			inLine[d.Address] = append(inLine[d.Address], d)
		} else {
			boxed = append(boxed, d)
		}
	}
	return inLine, boxed
}

// change adds one session: its header, the attributes that change, its errors.
func (p *planPage) change(b *page, c plan.Change, errs []session.Diagnostic) {
	switch {
	case c.Action == plan.None && p.options.Full && len(errs) == 0 && c.Reason != plan.ReasonNotTargeted && c.Before == nil && c.Live == nil:
		b.line("    "+b.paint(bold, string(c.Address)), " is not there", because(b, c.Detail))
		b.attributes(c, true)
	case c.Action == plan.None && p.options.Full && len(errs) == 0 && c.Reason != plan.ReasonNotTargeted:
		b.line("    "+b.paint(bold, string(c.Address)), b.was(c), " is unchanged", because(b, c.Detail))
		b.attributes(c, true)
	case c.Action == plan.None:
	default:
		p.told[c.Address] = true
		head, rest := headAndRest(c.Detail)
		b.line("  "+b.paint(actionInk(c.Action), c.Action.Symbol())+" "+b.paint(bold, string(c.Address)),
			b.was(c), " ", willBe(c), p.until(c), because(b, head), p.interrupts(c))
		for _, l := range rest {
			b.line("      ", b.paint(noInk, l))
		}
		b.attributes(c, p.options.Full)
	}
	p.mismatch(b, errs)
}

// was is the address that a session moves from, if it does.
func (p *page) was(c plan.Change) string {
	if c.Moved == "" {
		return ""
	}
	return p.paint(noInk, " (was "+string(c.Moved)+")")
}

// mismatch adds the errors of one session, a line each, and what they say
// besides below it.
func (p *planPage) mismatch(b *page, errs []session.Diagnostic) {
	for _, d := range errs {
		p.told[d.Address] = true
		head, rest := headAndRest(d.Detail)
		text := plaintext.OneLine(d.Summary)
		if head != "" {
			text += ": " + head
		}
		b.line("  " + b.paint(red, "!") + " " + b.paint(bold, string(d.Address)) + b.paint(red, ": "+text))
		for _, l := range rest {
			b.line("      ", b.paint(noInk, l))
		}
	}
}

// until is when a hold ends, if that is known.
func (p *planPage) until(c plan.Change) string {
	if c.Action != plan.Hold || c.Until.IsZero() {
		return ""
	}
	return " until " + clock(c.Until, p.plan.At) + " (in " + Age(c.Until.Sub(p.plan.At)) + ")"
}

// interrupts says which turn a change cuts off.
func (p *planPage) interrupts(c plan.Change) string {
	if c.Interrupts == nil {
		return ""
	}
	does := string(c.Interrupts.Activity)
	if since := c.Interrupts.For(p.plan.At); since > 0 {
		does += " for " + Age(since)
	}
	if limit := c.TurnLimit.D(); limit > 0 {
		return p.paint(yellow, " ("+does+": its turn may end first, for at most "+Age(limit)+")")
	}
	return p.paint(yellow, " ("+does+": its turn will be interrupted)")
}

func because(b *page, reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + b.paint(noInk, plaintext.OneLine(reason))
}

// willBe is what an action does to its session, in words.
func willBe(c plan.Change) string {
	words := verbs(c.Action)
	if c.Action == plan.Hold {
		return "is held"
	}
	text := "will be " + words.done
	if c.Action == plan.Update {
		text += " in place"
	}
	if c.Then.Acts() {
		text += ", then " + verbs(c.Then).done
	}
	return text
}

// drift notes what was found changed and has no line of its own in the plan.
func (p *planPage) drift() {
	var rows [][]cell
	for _, d := range p.plan.Drift {
		if p.told[d.Address] && d.Kind != plan.Orphaned {
			continue
		}
		rows = append(rows, []cell{
			{string(d.Address), bold}, {strings.ReplaceAll(string(d.Kind), "_", " "), yellow}, {d.Detail, noInk},
		})
	}
	if len(rows) == 0 {
		return
	}
	p.line(p.paint(bold, "Objects have changed outside of agentform:"))
	p.line()
	whole := page{Style: Style{Color: p.Color}} // notes are told in full, however narrow the terminal
	whole.table("  ", make([]column, 3), rows)
	p.line(whole.String())
}

// legend explains the symbols that the plan uses.
func (p *planPage) legend() {
	all := []struct {
		symbol plan.Action
		does   string
	}{
		{plan.Create, "create"}, {plan.Update, "update in place"}, {plan.Restart, "restart"}, {plan.Replace, "replace"},
		{plan.Delete, "destroy"}, {plan.Adopt, "adopt"}, {plan.Forget, "forget"}, {plan.Pause, "pause, resume or stop"}, {plan.Hold, "held"},
	}
	var parts []string
	for _, l := range all {
		if slices.ContainsFunc(p.plan.Changes, func(c plan.Change) bool {
			return c.Action != plan.None && c.Action.Symbol() == l.symbol.Symbol()
		}) {
			parts = append(parts, p.paint(actionInk(l.symbol), l.symbol.Symbol())+" "+l.does)
		}
	}
	if inLine, _ := p.problems(); len(inLine) > 0 {
		parts = append(parts, p.paint(red, "!")+" error")
	}
	if len(parts) > 0 {
		p.line("Symbols:  " + strings.Join(parts, "   "))
		p.line()
	}
}

func actionInk(a plan.Action) ink {
	switch a {
	case plan.Create:
		return green
	case plan.Update, plan.Restart:
		return yellow
	case plan.Replace:
		return magenta
	case plan.Delete:
		return red
	case plan.Adopt:
		return cyan
	case plan.Pause, plan.Resume, plan.Stop:
		return blue
	case plan.Forget, plan.Hold:
		return dim
	}
	return noInk
}
