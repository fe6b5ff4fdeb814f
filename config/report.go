package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const maxProblems = 1000

// report sorts problems by file and line, without duplicates.
func report(p *expr.Problems) []session.Diagnostic {
	var list []session.Diagnostic
	seen := map[string]bool{}
	dropped := 0
	for _, d := range p.Diags {
		key := d.Summary + "\x00" + d.Detail
		if d.Subject != nil {
			key += "\x00" + d.Subject.String()
		}
		if seen[key] {
			continue // one line of a block with many instances
		}
		seen[key] = true
		if len(list) == maxProblems {
			dropped++
			continue
		}
		list = append(list, diagnostic(p, d))
	}
	if dropped > 0 {
		list = append(list, session.Diagnostic{
			Severity: session.Error, Summary: "Too many problems",
			Detail: fmt.Sprintf("%d more errors not shown.", dropped),
		})
	}
	nowhere := session.Range{Filename: "\xff"} // after all others
	slices.SortStableFunc(list, func(a, b session.Diagnostic) int {
		x, y := cmp.Or(a.Range, &nowhere), cmp.Or(b.Range, &nowhere)
		return cmp.Or(
			cmp.Compare(x.Filename, y.Filename),
			cmp.Compare(x.Start.Byte, y.Start.Byte),
			cmp.Compare(x.End.Byte, y.End.Byte),
			cmp.Compare(a.Summary, b.Summary),
			cmp.Compare(a.Detail, b.Detail))
	})
	return list
}

func diagnostic(p *expr.Problems, d *hcl.Diagnostic) session.Diagnostic {
	out := session.Diagnostic{Severity: session.Error, Summary: d.Summary, Detail: p.Blot(d.Detail)}
	if d.Severity == hcl.DiagWarning {
		out.Severity = session.Warning
	}
	about, _ := d.Extra.(expr.Note)
	out.Address = session.Address(about.Address)
	if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d); ok {
		known := expr.FunctionNames()
		out.Detail = fmt.Sprintf("There is no function named %q.%s", call.CalledFunctionName(), expr.DidYouMean(call.CalledFunctionName(), known))
	}
	if d.Subject == nil {
		return out
	}
	at := rangeOf(*d.Subject)
	out.Range = &at
	if !about.Secret {
		out.Snippet = snippet(p, d)
	}
	return out
}

func rangeOf(r hcl.Range) session.Range {
	return session.Range{Filename: r.Filename, Start: session.Pos(r.Start), End: session.Pos(r.End)}
}
