package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// What a broken manifest of many thousand lines may cost.
const (
	maxProblems = 1000 // that are told; nobody reads more
	maxChoices  = 5000 // names that are compared with a mistyped one
)

// problems collects what is wrong with a manifest.
type problems struct {
	diags   hcl.Diagnostics
	sources map[string]*hcl.File
	private []string // texts of sensitive values, which no message may hold
}

// add adds problems that HCL reported.
func (p *problems) add(diags hcl.Diagnostics) { p.diags = append(p.diags, diags...) }

// failed reports whether an error was added.
func (p *problems) failed() bool { return p.diags.HasErrors() }

// failFor reports an error about a session, at a place.
func (p *problems) failFor(address session.Address, at hcl.Range, summary, detail string, args ...any) {
	p.fail(at, summary, detail, args...)
	p.diags[len(p.diags)-1].Extra = note{address: address}
}

// fail reports an error at a place.
func (p *problems) fail(at hcl.Range, summary, detail string, args ...any) {
	p.diags = append(p.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: &at})
}

// failNowhere reports an error that no line of a file is to blame for.
func (p *problems) failNowhere(summary, detail string, args ...any) {
	p.diags = append(p.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...)})
}

// warn reports a warning at a place.
func (p *problems) warn(at hcl.Range, summary, detail string, args ...any) {
	p.diags = append(p.diags, &hcl.Diagnostic{Severity: hcl.DiagWarning, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: &at})
}

// place is a range as a message names it: agentform.hcl:12.
func place(r hcl.Range) string {
	return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line)
}

// article puts "a" or "an" before a block type.
func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// didYouMean is a suggestion to append to a message, or nothing: the choice
// nearest to what was given, if it is near. Two edits apart is what HCL itself
// takes for near.
func didYouMean(given string, choices []string) string {
	best, near := "", 3
	if len(choices) > maxChoices {
		return ""
	}
	for _, c := range choices {
		if len(c) >= len(given)+near || len(given) >= len(c)+near {
			continue
		}
		if d := levenshtein.Distance(given, c, nil); d < near {
			best, near = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", best)
}

// quoted lists choices for a message: "a", "b" or "c".
func quoted(choices []string, last string) string {
	var b strings.Builder
	for i, c := range choices {
		switch {
		case i > 0 && i == len(choices)-1:
			b.WriteString(" " + last + " ")
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", c)
	}
	return b.String()
}

// report is the gathered problems as the rest of agentform knows them: sorted by
// file and line, those without a place last, each once.
func (p *problems) report() []session.Diagnostic {
	var list []session.Diagnostic
	seen := map[string]bool{}
	untold := 0
	for _, d := range p.diags {
		key := d.Summary + "\x00" + d.Detail
		if d.Subject != nil {
			key += "\x00" + d.Subject.String()
		}
		if seen[key] {
			continue // one line of a block with many instances
		}
		seen[key] = true
		if len(list) == maxProblems {
			untold++
			continue
		}
		list = append(list, p.convert(d))
	}
	if untold > 0 {
		list = append(list, session.Diagnostic{
			Severity: session.Error, Summary: "Too many problems",
			Detail: fmt.Sprintf("%d more are not told; they may go with the ones above.", untold),
		})
	}
	slices.SortStableFunc(list, func(a, b session.Diagnostic) int {
		switch {
		case a.Range == nil && b.Range == nil:
			return cmp.Or(cmp.Compare(a.Summary, b.Summary), cmp.Compare(a.Detail, b.Detail))
		case a.Range == nil:
			return 1
		case b.Range == nil:
			return -1
		}
		return cmp.Or(
			cmp.Compare(a.Range.Filename, b.Range.Filename),
			cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte),
			cmp.Compare(a.Range.End.Byte, b.Range.End.Byte),
			cmp.Compare(a.Summary, b.Summary),
			cmp.Compare(a.Detail, b.Detail))
	})
	return list
}

// note is what agentform knows of a problem besides what HCL keeps.
type note struct {
	address session.Address
	secret  bool // the source line holds a sensitive value
	inner   any  // HCL's own
}

// UnwrapDiagnosticExtra lets HCL's own be found.
func (n note) UnwrapDiagnosticExtra() any { return n.inner }

// convert translates one problem.
func (p *problems) convert(d *hcl.Diagnostic) session.Diagnostic {
	out := session.Diagnostic{Severity: session.Error, Summary: d.Summary, Detail: p.blot(d.Detail)}
	if d.Severity == hcl.DiagWarning {
		out.Severity = session.Warning
	}
	about, _ := d.Extra.(note)
	out.Address = about.address
	if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d); ok {
		known := functionNames()
		out.Detail = fmt.Sprintf("There is no function named %q.%s", call.CalledFunctionName(), didYouMean(call.CalledFunctionName(), known))
	}
	if d.Subject == nil {
		return out
	}
	at := rangeOf(*d.Subject)
	out.Range = &at
	if !about.secret {
		out.Snippet = p.snippet(d)
	}
	return out
}

// rangeOf is a range as the rest of agentform knows it.
func rangeOf(r hcl.Range) session.Range {
	return session.Range{Filename: r.Filename, Start: position(r.Start), End: position(r.End)}
}

func position(p hcl.Pos) session.Pos {
	return session.Pos{Line: p.Line, Column: p.Column, Byte: p.Byte}
}

// blot takes the text of sensitive values out of a message. Some functions put
// what they were given into their error.
func (p *problems) blot(text string) string {
	for _, secret := range p.private {
		text = strings.ReplaceAll(text, secret, "(sensitive value)")
	}
	return text
}

// conceal takes a sensitive key out of a problem in which HCL quotes it.
func conceal(d *hcl.Diagnostic) {
	if d.Summary != "Duplicate object key" || d.Expression == nil || d.EvalContext == nil {
		return
	}
	if key, _ := d.Expression.Value(d.EvalContext); key.ContainsMarked() {
		d.Detail = "Two different items produced the same key in this 'for' expression; it is not told, because it is sensitive."
	}
}

// hideAll notes the texts in a sensitive value, to be kept out of messages.
func (p *problems) hideAll(v cty.Value) {
	_ = cty.Walk(v, func(_ cty.Path, part cty.Value) (bool, error) {
		part, _ = part.Unmark()
		if part.IsKnown() && !part.IsNull() && part.Type() == cty.String {
			p.hide(part.AsString())
		}
		return true, nil
	})
}

// hide notes one text. A very short one would blot out half of a message and
// hides nothing.
func (p *problems) hide(text string) {
	if len(text) >= 4 && !slices.Contains(p.private, text) {
		p.private = append(p.private, text)
		slices.SortFunc(p.private, func(a, b string) int { return len(b) - len(a) })
	}
}
