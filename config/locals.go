package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

type localRef struct {
	name string
	at   hcl.Range
}

// readLocals evaluates local values in the order of their references.
func readLocals(l *loader) cty.Value {
	attrs := map[string]*expr.Attr{}
	for _, b := range l.blocks["locals"] {
		for _, a := range b.Sorted() {
			if first := attrs[a.Name]; first != nil {
				l.Fail(a.Range, "Duplicate local value", "local.%s is already defined at %s.", a.Name, expr.Place(first.Range))
				continue
			}
			attrs[a.Name] = a
			l.known.locals = append(l.known.locals, a.Name)
		}
	}
	slices.Sort(l.known.locals)
	refs := map[string][]localRef{}
	for _, name := range l.known.locals {
		l.check(attrs[name], inProject)
		for _, t := range attrs[name].Expr.Variables() {
			if step, ok := nth(t, 1).(hcl.TraverseAttr); ok && t.RootName() == "local" && attrs[step.Name] != nil {
				refs[name] = append(refs[name], localRef{step.Name, t.SourceRange()})
			}
		}
	}
	values := map[string]cty.Value{}
	w := walk[string, localRef]{
		edges: func(name string) []localRef { return refs[name] },
		to:    func(r localRef) string { return r.name },
		leave: func(name string) {
			// A context with all local values for each of them would take quadratic time.
			needed := map[string]cty.Value{}
			for _, r := range refs[name] {
				needed[r.name] = cty.DynamicVal // in a cycle
				if v, ok := values[r.name]; ok {
					needed[r.name] = v
				}
			}
			ctx := l.ctx.NewChild()
			ctx.Variables = map[string]cty.Value{"local": cty.ObjectVal(needed)}
			values[name] = cty.DynamicVal
			if v, ok := l.reader(ctx).Evaluate(attrs[name]); ok {
				values[name] = v
			}
		},
		cycle: func(steps []step[string, localRef]) {
			var b strings.Builder
			for _, s := range steps {
				fmt.Fprintf(&b, "\n  local.%s refers to local.%s at %s", s.from, s.edge.name, expr.Place(s.edge.at))
			}
			l.Fail(attrs[steps[0].from].Range, "Locals in a cycle", "These local values refer to each other, so none can be evaluated:%s", b.String())
		},
	}
	for _, name := range l.known.locals {
		w.visit(name)
	}
	return cty.ObjectVal(values)
}
