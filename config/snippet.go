package config

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcled"
	"github.com/zclconf/go-cty/cty"
)

const (
	maxLines  = 8
	maxCode   = 2 << 10 // bytes
	maxValues = 10      // of an expression's variables
)

func snippet(p *expr.Problems, d *hcl.Diagnostic) *session.Snippet {
	f := p.Sources[d.Subject.Filename]
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
	end := len(src)
	if i := bytes.IndexByte(src[to:], '\n'); i >= 0 {
		end = to + i
	}
	if lines := bytes.SplitAfterN(src[start:end], []byte("\n"), maxLines+1); len(lines) > maxLines {
		end -= len(lines[maxLines]) + 1
	}
	if from-start > maxCode/2 { // the beginning of a very long line is left out
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
		Values:  snippetValues(p, d),
	}
	out.From = min(out.From, len(out.Code))
	out.To = clamp(to-start, out.From, len(out.Code))
	return out
}

func clamp(n, low, high int) int { return min(max(n, low), high) }

func runeStart(src []byte, i int) int {
	for i > 0 && i < len(src) && !utf8.RuneStart(src[i]) {
		i--
	}
	return i
}

func snippetValues(p *expr.Problems, d *hcl.Diagnostic) []session.Value {
	if d.Expression == nil || d.EvalContext == nil {
		return nil
	}
	said := map[string]string{}
	for _, t := range d.Expression.Variables() {
		name := expr.Traversal(t)
		if _, again := said[name]; again || len(said) == maxValues {
			continue
		}
		v, diags := t.TraverseAbs(d.EvalContext)
		if diags.HasErrors() {
			continue
		}
		if s := statement(v); s != "" {
			said[name] = p.Blot(s)
		}
	}
	var list []session.Value
	for t, s := range said {
		list = append(list, session.Value{Traversal: t, Statement: s})
	}
	slices.SortFunc(list, func(a, b session.Value) int { return cmp.Compare(a.Traversal, b.Traversal) })
	return list
}

// statement returns a value as a predicate: is "api".
func statement(v cty.Value) string {
	switch {
	case v.ContainsMarked():
		return "is sensitive"
	case !v.IsKnown():
		return ""
	case v.IsNull():
		return "is null"
	case v.Type() == cty.String:
		return fmt.Sprintf("is %q", expr.Cut(v.AsString()))
	case v.Type() == cty.Bool && v.True():
		return "is true"
	case v.Type() == cty.Bool:
		return "is false"
	case v.Type() == cty.Number:
		return "is " + expr.Cut(v.AsBigFloat().Text('f', -1))
	case v.CanIterateElements():
		name, noun := v.Type().FriendlyName(), "element"
		if v.Type().IsObjectType() {
			noun = "attribute"
		}
		switch n := v.LengthInt(); n {
		case 0:
			name, _, _ = strings.Cut(name, " of ")
			return "is empty " + name
		case 1:
			return fmt.Sprintf("is %s with 1 %s", name, noun)
		default:
			return fmt.Sprintf("is %s with %d %ss", name, n, noun)
		}
	}
	return ""
}
