package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// local is one local value on its way.
type local struct {
	attr  *expr.Attr
	needs []need
	state int // 0 untouched, 1 under way, 2 done
	value cty.Value
}

// need is a reference from one local to another.
type need struct {
	name string
	at   hcl.Range
}

// readLocals returns the value of local. It evaluates local values in the order of their
// references.
func readLocals(l *loader) cty.Value {
	all := map[string]*local{}
	for _, b := range l.blocks["locals"] {
		for _, a := range b.Sorted() {
			if first := all[a.Name]; first != nil {
				l.Fail(a.Range, "Duplicate local value", "local.%s is defined at %s already.", a.Name, expr.Place(first.attr.Range))
				continue
			}
			all[a.Name] = &local{attr: a}
			l.known.locals = append(l.known.locals, a.Name)
		}
	}
	slices.Sort(l.known.locals)
	for _, name := range l.known.locals {
		v := all[name]
		l.check(v.attr, inProject)
		for _, t := range v.attr.Expr.Variables() {
			if step, ok := nth(t, 1).(hcl.TraverseAttr); ok && t.RootName() == "local" && all[step.Name] != nil {
				v.needs = append(v.needs, need{step.Name, t.SourceRange()})
			}
		}
	}
	values := map[string]cty.Value{}
	for _, name := range l.known.locals {
		values[name] = evaluateLocal(l, all, name, nil)
	}
	return cty.ObjectVal(values)
}

// evaluateLocal is the value of one local; way is how it was come to.
func evaluateLocal(l *loader, all map[string]*local, name string, way []need) cty.Value {
	v := all[name]
	switch v.state {
	case 2:
		return v.value
	case 1:
		reportLocalCircle(l, all, name, way)
		return cty.DynamicVal
	}
	v.state = 1
	needed := map[string]cty.Value{}
	for _, n := range v.needs {
		if _, have := needed[n.name]; !have {
			needed[n.name] = evaluateLocal(l, all, n.name, append(way, n))
		}
	}
	// only what it refers to is put before it: a context with all of them for
	// each of them would be quadratic
	ctx := l.ctx.NewChild()
	ctx.Variables = map[string]cty.Value{"local": cty.ObjectVal(needed)}
	v.value = cty.DynamicVal
	d := l.reader(ctx)
	if got, ok := d.Evaluate(v.attr); ok {
		v.value = got
	}
	v.state = 2
	return v.value
}

// reportLocalCircle tells of locals that need each other, each step with its place.
func reportLocalCircle(l *loader, all map[string]*local, name string, way []need) {
	start := 0
	for i := len(way) - 2; i >= 0; i-- {
		if way[i].name == name {
			start = i + 1
			break
		}
	}
	steps := way[start:]
	var b strings.Builder
	from := name
	for _, s := range steps {
		fmt.Fprintf(&b, "\n  local.%s refers to local.%s at %s", from, s.name, expr.Place(s.at))
		from = s.name
	}
	l.Fail(all[name].attr.Range, "Locals in a circle", "These local values need each other, so none can be evaluated:%s", b.String())
}
