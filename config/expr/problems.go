package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// What a broken manifest of many thousand lines may cost.
const (
	maxChoices = 5000 // names that are compared with a mistyped one
)

// Problems collects what is wrong with a manifest.
type Problems struct {
	Diags   hcl.Diagnostics
	Sources map[string]*hcl.File
	private []string // texts of sensitive values, which no message may hold
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

// FailNowhere reports an error that no line of a file is to blame for.
func (p *Problems) FailNowhere(summary, detail string, args ...any) {
	p.Diags = append(p.Diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...)})
}

// Warn reports a warning at a place.
func (p *Problems) Warn(at hcl.Range, summary, detail string, args ...any) {
	p.Diags = append(p.Diags, &hcl.Diagnostic{Severity: hcl.DiagWarning, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: &at})
}

// Place is a range as a message names it: agentform.hcl:12.
func Place(r hcl.Range) string {
	return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line)
}

// Article puts "a" or "an" before a block type.
func Article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// DidYouMean is a suggestion to append to a message, or nothing: the choice
// nearest to what was given, if it is near. Two edits apart is what HCL itself
// takes for near.
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

// Quoted lists choices for a message: "a", "b" or "c".
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

// Note is what agentform knows of a problem besides what HCL keeps.
type Note struct {
	Address string // of the session that it is about, if any
	Secret  bool   // the source line holds a sensitive value
	inner   any    // HCL's own
}

// UnwrapDiagnosticExtra lets HCL's own be found.
func (n Note) UnwrapDiagnosticExtra() any { return n.inner }

// Blot takes the text of sensitive values out of a message. Some functions put
// what they were given into their error.
func (p *Problems) Blot(text string) string {
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

// HideAll notes the texts in a sensitive value, to be kept out of messages.
func (p *Problems) HideAll(v cty.Value) {
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
func (p *Problems) hide(text string) {
	if len(text) >= 4 && !slices.Contains(p.private, text) {
		p.private = append(p.private, text)
		slices.SortFunc(p.private, func(a, b string) int { return len(b) - len(a) })
	}
}

// longestValue is how many characters of a value are shown.
const longestValue = 60

// Cut shortens a value to what fits a line.
func Cut(s string) string {
	n := 0
	for i := range s {
		if n++; n > longestValue {
			return s[:i] + "…"
		}
	}
	return s
}

// Traversal is a reference as it is written.
func Traversal(t hcl.Traversal) string {
	var b strings.Builder
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(s.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + s.Name)
		case hcl.TraverseIndex:
			switch {
			case s.Key.Type() == cty.String:
				fmt.Fprintf(&b, "[%q]", s.Key.AsString())
			case s.Key.Type() == cty.Number:
				b.WriteString("[" + s.Key.AsBigFloat().Text('f', -1) + "]")
			default:
				b.WriteString("[…]")
			}
		}
	}
	return b.String()
}
