package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

const maxChoices = 5000

// Problems collects the errors and warnings about a manifest.
type Problems struct {
	Diags   hcl.Diagnostics
	Sources map[string]*hcl.File
	private []string // texts of sensitive values, which messages must not contain
}

// Add adds problems that HCL reported.
func (p *Problems) Add(diags hcl.Diagnostics) { p.Diags = append(p.Diags, diags...) }

// Failed reports whether an error was added.
func (p *Problems) Failed() bool { return p.Diags.HasErrors() }

// FailFor reports an error about a session, at a place.
func (p *Problems) FailFor(address string, at hcl.Range, summary, detail string, args ...any) {
	p.Fail(at, summary, detail, args...)
	p.Diags[len(p.Diags)-1].Extra = Note{Address: address}
}

// Fail reports an error at a place.
func (p *Problems) Fail(at hcl.Range, summary, detail string, args ...any) {
	p.Diags = append(p.Diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: &at})
}

// FailNowhere reports an error without a place.
func (p *Problems) FailNowhere(summary, detail string, args ...any) {
	p.Diags = append(p.Diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...)})
}

// Warn reports a warning at a place.
func (p *Problems) Warn(at hcl.Range, summary, detail string, args ...any) {
	p.Diags = append(p.Diags, &hcl.Diagnostic{Severity: hcl.DiagWarning, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: &at})
}

// Place returns a range for messages: agentform.hcl:12.
func Place(r hcl.Range) string {
	return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line)
}

// Article returns a block type with "a" or "an" before it.
func Article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// DidYouMean returns the choice nearest to given, at most two edits away, to append.
func DidYouMean(given string, choices []string) string {
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

// Quoted returns a list of choices for messages: "a", "b" or "c".
func Quoted(choices []string, last string) string {
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

// Note is the extra information of a diagnostic.
type Note struct {
	Address string // the session's, if any
	Secret  bool   // the source line contains a sensitive value
	inner   any    // HCL's extra
}

// UnwrapDiagnosticExtra returns the extra that HCL set.
func (n Note) UnwrapDiagnosticExtra() any { return n.inner }

// Blot removes the texts of sensitive values, which functions quote, from a message.
func (p *Problems) Blot(text string) string {
	for _, secret := range p.private {
		text = strings.ReplaceAll(text, secret, "(sensitive value)")
	}
	return text
}

// conceal removes a sensitive key from a problem in which HCL quotes it.
func conceal(d *hcl.Diagnostic) {
	if d.Summary != "Duplicate object key" || d.Expression == nil || d.EvalContext == nil {
		return
	}
	if key, _ := d.Expression.Value(d.EvalContext); key.ContainsMarked() {
		d.Detail = "Two different items produced the same key in this 'for' expression, which is sensitive."
	}
}

// HideAll adds the texts in a sensitive value to those that messages must not contain.
func (p *Problems) HideAll(v cty.Value) {
	_ = cty.Walk(v, func(_ cty.Path, part cty.Value) (bool, error) {
		part, _ = part.Unmark()
		if part.IsKnown() && !part.IsNull() && part.Type() == cty.String {
			p.hide(part.AsString())
		}
		return true, nil
	})
}

// hide leaves out what is so short that it is in half of all messages.
func (p *Problems) hide(text string) {
	if len(text) >= 4 && !slices.Contains(p.private, text) {
		p.private = append(p.private, text)
		slices.SortFunc(p.private, func(a, b string) int { return len(b) - len(a) })
	}
}

const longestValue = 60

// Cut shortens a value to fit on a line.
func Cut(s string) string {
	n := 0
	for i := range s {
		if n++; n > longestValue {
			return s[:i] + "…"
		}
	}
	return s
}

// Traversal returns a reference as it is written.
func Traversal(t hcl.Traversal) string { return string(hclwrite.TokensForTraversal(t).Bytes()) }
