package config

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// addressOf decodes session.NAME, session.NAME["KEY"] or session.NAME[0]. The key can be
// any expression, and the session need not be declared. Not ok: it is missing or invalid,
// which was reported.
func addressOf(d reader, b *expr.Block, name string) (session.Address, bool) {
	a := b.Attr(name)
	if a == nil {
		d.Require(b, name, name+` = session.api, or session.worker["web"]`)
		return "", false
	}
	if a.Bad {
		return "", false
	}
	address := a.Expr
	if _, native := address.(hclsyntax.Expression); !native {
		// in JSON an address is a string
		var reported bool
		if address, reported = unquote(d, a); reported {
			return "", false
		}
	}
	block, key, ok := addressParts(address)
	if !ok || !addressable(block) {
		d.Fail(a, "Invalid address", "%q must be the address of a session, without quotes: session.api, session.worker[\"web\"] or session.pool[0].", name)
		return "", false
	}
	if key == nil {
		return session.Single(block), true
	}
	k, ok := d.Evaluate(&expr.Attr{Name: name, Expr: key, Range: key.Range(), PerInstance: true})
	if !ok {
		return "", false
	}
	of, problem := instanceAddress(block, k)
	if problem != "" {
		d.Fail(a, "Invalid address", "%s", problem)
	}
	return of, of != ""
}

// instanceAddress returns nothing if the key is unknown, which was reported elsewhere.
func instanceAddress(block string, key cty.Value) (_ session.Address, problem string) {
	switch {
	case key.IsMarked():
		return "", "A sensitive value cannot be part of an address."
	case !key.IsKnown():
		return "", ""
	case key.IsNull():
		return "", "The key is null."
	case key.Type() == cty.String:
		return session.Keyed(block, key.AsString()), ""
	case key.Type() == cty.Number:
		if n, exact := key.AsBigFloat().Int64(); exact == big.Exact && n >= 0 && n < maxSessions {
			return session.Indexed(block, int(n)), ""
		}
		return "", fmt.Sprintf("An index must be from 0 to less than %d.", maxSessions)
	}
	return "", fmt.Sprintf("A key must be a string or a whole number, not %s.", key.Type().FriendlyName())
}

// addressParts splits session.NAME[KEY]. key is nil without a key.
func addressParts(e hcl.Expression) (block string, key hcl.Expression, ok bool) {
	if index, is := e.(*hclsyntax.IndexExpr); is {
		block, inner, ok := addressParts(index.Collection)
		return block, index.Key, ok && inner == nil
	}
	t, diags := hcl.AbsTraversalForExpr(e)
	if diags.HasErrors() || t.RootName() != "session" || len(t) < 2 || len(t) > 3 {
		return "", nil, false
	}
	step, ok := t[1].(hcl.TraverseAttr)
	if !ok || len(t) == 2 {
		return step.Name, nil, ok
	}
	index, ok := t[2].(hcl.TraverseIndex)
	if !ok {
		return "", nil, false
	}
	return step.Name, hcl.StaticExpr(index.Key, index.SrcRange), true
}

// unquote returns the expression in a JSON string, with or without ${ } around it.
func unquote(d reader, a *expr.Attr) (_ hcl.Expression, reported bool) {
	v, _ := a.Expr.Value(nil) // without a context JSON strings are literal
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return a.Expr, false
	}
	text := strings.TrimSpace(v.AsString())
	if inner, ok := strings.CutPrefix(text, "${"); ok {
		text = strings.TrimSuffix(inner, "}")
	}
	start := a.Expr.Range().Start
	parsed, diags := expr.Parse(text, a.Expr.Range().Filename, start)
	if diags.HasErrors() {
		return a.Expr, false
	}
	s := inProject
	s.each = true
	for _, t := range parsed.Variables() {
		if t.RootName() == "session" {
			continue
		}
		if summary, detail := d.l.wrong(t, s); summary != "" {
			d.Fail(a, summary, "%s", detail)
			return nil, true
		}
	}
	return parsed, false
}

// checkAddresses checks references. Addresses need not be declared.
func checkAddresses(l *loader, b *expr.Block) {
	s := inProject
	s.each = b.Attr("for_each") != nil
	for _, a := range b.Sorted() {
		switch {
		case a.Name == "for_each":
			l.check(a, inProject)
		case a.Name != "from" && a.Name != "to":
			l.check(a, s)
		default:
			for _, t := range a.Expr.Variables() {
				if t.RootName() == "session" {
					continue
				}
				if summary, detail := l.wrong(t, s); summary != "" {
					a.Bad = true
					l.Fail(t.SourceRange(), summary, "%s", detail)
				}
			}
		}
		for _, t := range a.Expr.Variables() {
			a.PerInstance = a.PerInstance || t.RootName() == "each"
		}
	}
}

// eachOf calls do for every element of a block's for_each, or once without.
func eachOf(l *loader, b *expr.Block, do func(reader)) {
	checkAddresses(l, b)
	a := b.Attr("for_each")
	if a == nil {
		do(l.reader(l.ctx))
		return
	}
	list, ok := elements(l.reader(l.ctx), a)
	if !ok {
		return
	}
	if len(list) > maxSessions {
		l.Fail(a.Range, "Too many elements", "for_each has more than %d elements.", maxSessions)
		return
	}
	for _, e := range list {
		do(l.reader(instanceContext(l, b, e)))
	}
}
