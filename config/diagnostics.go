package config

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentform/agentform/session"
	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcled"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// fail reports an error at a place.
func (l *loader) fail(at hcl.Range, summary, detail string, args ...any) {
	l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: &at})
}

// failNowhere reports an error that no line of a file is to blame for.
func (l *loader) failNowhere(summary, detail string, args ...any) {
	l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...)})
}

// warn reports a warning at a place.
func (l *loader) warn(at hcl.Range, summary, detail string, args ...any) {
	l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagWarning, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: &at})
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
	for _, c := range choices {
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
func (l *loader) report() []session.Diagnostic {
	var list []session.Diagnostic
	seen := map[string]bool{}
	for _, d := range l.diags {
		key := d.Summary + "\x00" + d.Detail
		if d.Subject != nil {
			key += "\x00" + d.Subject.String()
		}
		if seen[key] {
			continue // one line of a block with many instances
		}
		seen[key] = true
		list = append(list, l.convert(d))
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
func (l *loader) convert(d *hcl.Diagnostic) session.Diagnostic {
	out := session.Diagnostic{Severity: session.Error, Summary: d.Summary, Detail: l.blot(d.Detail)}
	if d.Severity == hcl.DiagWarning {
		out.Severity = session.Warning
	}
	about, _ := d.Extra.(note)
	out.Address = about.address
	if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d); ok && l.ctx != nil {
		known := slices.Sorted(maps.Keys(l.ctx.Functions))
		out.Detail = fmt.Sprintf("There is no function named %q.%s", call.CalledFunctionName(), didYouMean(call.CalledFunctionName(), known))
	}
	if d.Subject == nil {
		return out
	}
	out.Range = &session.Range{Filename: d.Subject.Filename, Start: position(d.Subject.Start), End: position(d.Subject.End)}
	if !about.secret {
		out.Snippet = l.snippet(d)
	}
	return out
}

func position(p hcl.Pos) session.Pos {
	return session.Pos{Line: p.Line, Column: p.Column, Byte: p.Byte}
}

// blot takes the text of sensitive values out of a message. Some functions put
// what they were given into their error.
func (l *loader) blot(text string) string {
	for _, p := range l.private {
		text = strings.ReplaceAll(text, p, "(sensitive value)")
	}
	return text
}

// The most of a source that is shown.
const (
	maxLines = 8
	maxCode  = 2 << 10
)

// snippet is the source lines around a problem.
func (l *loader) snippet(d *hcl.Diagnostic) *session.Snippet {
	f := l.sources[d.Subject.Filename]
	if f == nil {
		return nil
	}
	src := f.Bytes
	from, to := clamp(d.Subject.Start.Byte, 0, len(src)), clamp(d.Subject.End.Byte, 0, len(src))
	to = max(from, to)
	if to > from && src[to-1] == '\n' {
		to--
	}
	start := bytes.LastIndexByte(src[:from], '\n') + 1
	end := start
	for lines := 0; lines < maxLines && end < len(src); lines++ {
		if lines > 0 {
			if end >= to {
				break
			}
			end++ // the newline before this line
		}
		if i := bytes.IndexByte(src[end:], '\n'); i >= 0 {
			end += i
		} else {
			end = len(src)
		}
	}
	if from-start > maxCode/2 { // a very long line: what stands before is left out
		start = runeStart(src, from-maxCode/2)
	}
	if end-start > maxCode {
		end = runeStart(src, start+maxCode)
	}
	end = max(end, from)
	out := &session.Snippet{
		Context: hcled.ContextString(f, from),
		Code:    strings.TrimSuffix(string(src[start:end]), "\r"),
		Line:    d.Subject.Start.Line,
		From:    from - start,
		Values:  l.values(d),
	}
	out.From = min(out.From, len(out.Code))
	out.To = clamp(to-start, out.From, len(out.Code))
	return out
}

func clamp(n, low, high int) int { return min(max(n, low), high) }

// runeStart is the offset of the character that holds byte i.
func runeStart(src []byte, i int) int {
	for i > 0 && i < len(src) && !utf8.RuneStart(src[i]) {
		i--
	}
	return i
}

// values are the variables of the faulty expression and what they were.
func (l *loader) values(d *hcl.Diagnostic) []session.Value {
	if d.Expression == nil || d.EvalContext == nil {
		return nil
	}
	said := map[string]string{}
	for _, t := range d.Expression.Variables() {
		v, diags := t.TraverseAbs(d.EvalContext)
		if diags.HasErrors() {
			continue
		}
		if s := statement(v); s != "" {
			said[traversal(t)] = l.blot(s)
		}
	}
	var list []session.Value
	for t, s := range said {
		list = append(list, session.Value{Traversal: t, Statement: s})
	}
	slices.SortFunc(list, func(a, b session.Value) int { return cmp.Compare(a.Traversal, b.Traversal) })
	return list
}

// longestValue is how many characters of a value are shown.
const longestValue = 60

// statement says what a value is, in the words of a sentence about it.
func statement(v cty.Value) string {
	switch {
	case v.ContainsMarked():
		return "is sensitive"
	case !v.IsKnown():
		return ""
	case v.IsNull():
		return "is null"
	case v.Type() == cty.String:
		return fmt.Sprintf("is %q", cut(v.AsString()))
	case v.Type() == cty.Bool && v.True():
		return "is true"
	case v.Type() == cty.Bool:
		return "is false"
	case v.Type() == cty.Number:
		return "is " + cut(v.AsBigFloat().Text('f', -1))
	case v.CanIterateElements():
		n := v.LengthInt()
		noun := "elements"
		if v.Type().IsObjectType() {
			noun = "attributes"
		}
		if n == 1 {
			noun = strings.TrimSuffix(noun, "s")
		}
		if n == 0 {
			return "is empty " + strings.SplitN(v.Type().FriendlyName(), " of ", 2)[0]
		}
		return fmt.Sprintf("is %s with %d %s", v.Type().FriendlyName(), n, noun)
	}
	return ""
}

// cut shortens a value to what fits a line.
func cut(s string) string {
	r := []rune(s)
	if len(r) <= longestValue {
		return s
	}
	return string(r[:longestValue]) + "…"
}

// traversal is a reference as it is written.
func traversal(t hcl.Traversal) string {
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
