package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// reference is the type of session.NAME["KEY"] in depends_on.
var reference = cty.Capsule("session", reflect.TypeFor[instance]())

type edge struct {
	to    *instance
	at    hcl.Range
	until session.Await // empty: by the agent of the session that it leads to
	says  hcl.Range     // where until is declared
}

type dependency struct {
	*expr.Attr
	until *expr.Attr // nil: not set
}

// sessionObject returns for each block a value, or the list or map of the values of its
// instances. Those that are not enabled are in a map only if off is set.
func sessionObject(blocks map[string]*instances, typ cty.Type, off bool, value func(*instance) cty.Value) cty.Value {
	all := make(map[string]cty.Value, len(blocks))
	for name, in := range blocks {
		list, table := []cty.Value{}, map[string]cty.Value{}
		for i := range in.list {
			v := &in.list[i]
			list = append(list, value(v))
			if !in.single && !in.count && (off || !v.off) {
				table[v.key.AsString()] = list[i]
			}
		}
		switch {
		case in.failed:
			all[name] = cty.DynamicVal
		case in.single:
			all[name] = list[0]
		case in.count && len(list) > 0:
			all[name] = cty.ListVal(list)
		case in.count:
			all[name] = cty.ListValEmpty(typ)
		case len(table) > 0:
			all[name] = cty.MapVal(table)
		default:
			all[name] = cty.MapValEmpty(typ)
		}
	}
	return cty.ObjectVal(all)
}

type dependsOn struct {
	items []dependency
	edges *[]edge // once evaluated, if they are the same for each instance
}

// dependencies evaluates depends_on, once if it is the same for each instance.
func dependencies(d reader, of blockInputs) []edge {
	if of.depends.edges != nil {
		return *of.depends.edges
	}
	var list []edge
	fixed := true
	for _, a := range of.depends.items {
		fixed = fixed && !a.PerInstance && (a.until == nil || !a.until.PerInstance)
		if !a.Bad {
			list = evaluateDependency(d, a, of.instances, list)
		}
	}
	if fixed {
		of.depends.edges = &list
	}
	return list
}

// splitDepends splits depends_on, so that each element has its own place.
func splitDepends(l *loader, b *expr.Block, s scope) *dependsOn {
	return splitReferences(l, b.Attr("depends_on"), s)
}

func splitReferences(l *loader, a *expr.Attr, s scope) *dependsOn {
	if a == nil {
		return &dependsOn{}
	}
	s.sessions = true
	items, diags := hcl.ExprList(a.Expr)
	if diags.HasErrors() {
		l.check(a, s)
		return &dependsOn{items: []dependency{{Attr: a}}}
	}
	out := &dependsOn{}
	for _, e := range items {
		item := splitDependency(l, a.Name, e, s)
		out.items = append(out.items, item)
		e := item.Expr
		if t, diags := hcl.AbsTraversalForExpr(e); !diags.HasErrors() && len(e.Variables()) == 0 {
			// in JSON a reference is a string, which is parsed only here
			if summary, detail := l.wrong(t, s); summary != "" {
				item.Bad = true
				l.Fail(e.Range(), summary, "%s", detail)
			}
			continue
		}
		l.check(item.Attr, s)
	}
	return out
}

// splitDependency splits { session = …, until = … }. Any other element is a reference.
func splitDependency(l *loader, name string, e hcl.Expression, s scope) dependency {
	whole := dependency{Attr: &expr.Attr{Name: name, Expr: e, Range: e.Range()}}
	pairs, diags := hcl.ExprMap(e)
	if diags.HasErrors() {
		return whole
	}
	var found dependency
	for _, pair := range pairs {
		part := &expr.Attr{Name: name, Expr: pair.Value, Range: pair.Value.Range()}
		switch key, _ := pair.Key.Value(nil); { // a word, with or without quotes
		case key.RawEquals(cty.StringVal("session")):
			found.Attr = part
		case key.RawEquals(cty.StringVal("until")):
			found.until = part
			l.check(part, s)
		default:
			whole.Bad = true
			l.Fail(pair.Key.Range(), "Invalid dependency", "A dependency has the attributes session and until: { session = session.database, until = \"done\" }.")
			return whole
		}
	}
	if found.Attr == nil {
		whole.Bad = true
		l.Fail(e.Range(), "Invalid dependency", "The session is missing: { session = session.database, until = \"done\" }.")
		return whole
	}
	return found
}

// evaluateDependency evaluates one element, or the whole if that is not a list.
func evaluateDependency(d reader, a dependency, instances map[string]*instances, list []edge) []edge {
	found := sessionsIn(d, a.Attr, instances)
	if a.until != nil {
		until, ok := evaluateUntil(d, a.until)
		if !ok {
			return list
		}
		for i := range found {
			found[i].until, found[i].says = until, a.until.Expr.Range()
		}
	}
	return append(list, found...)
}

func evaluateUntil(d reader, a *expr.Attr) (session.Await, bool) {
	v, ok := d.Evaluate(a)
	if a.Bad || !ok || !d.Plain(a, v) {
		return "", false
	}
	word := ""
	if v.Type() == cty.String && !v.IsNull() {
		word = v.AsString()
	}
	all := []string{string(session.AwaitReady), string(session.AwaitTurn), string(session.AwaitVerified), string(session.AwaitDone)}
	if !slices.Contains(all, word) {
		d.Fail(a, "Invalid dependency", "until must be %s.%s", expr.Quoted(all, "or"), expr.DidYouMean(word, all))
		return "", false
	}
	return session.Await(word), true
}

func sessionsIn(d reader, a *expr.Attr, instances map[string]*instances) []edge {
	var v cty.Value
	var ok bool
	if t, diags := hcl.AbsTraversalForExpr(a.Expr); !diags.HasErrors() && t.RootName() == "session" {
		if v, diags = t.TraverseAbs(d.Ctx); diags.HasErrors() {
			d.Fail(a, "No such session", "%s", leadsNowhere(t, instances))
			return nil
		}
	} else if v, ok = d.Evaluate(a); !ok {
		return nil
	}
	if !d.Plain(a, v) {
		return nil
	}
	found, ok := edges(v, a.Expr.Range(), nil)
	if !ok {
		or := ""
		if a.Name == "depends_on" {
			or = ", or of objects { session = session.database, until = \"done\" }"
		}
		d.Fail(a, "Invalid dependency", "%s must be a list of sessions, without quotes: [session.database, session.worker[\"web\"]]%s.", a.Name, or)
		return nil
	}
	return found
}

func leadsNowhere(t hcl.Traversal, all map[string]*instances) string {
	name := t[1].(hcl.TraverseAttr).Name
	in := all[name]
	switch {
	case len(t) > 2 && in.single:
		return fmt.Sprintf("session.%s has neither for_each nor count, so it has no instances; write session.%s.", name, name)
	case len(in.list) == 0:
		return fmt.Sprintf("session.%s has no instances.", name)
	}
	var keys []string
	for _, i := range in.list {
		key, _ := i.address.Key()
		keys = append(keys, key)
	}
	hint := ""
	if step, ok := t[2].(hcl.TraverseIndex); ok && step.Key.Type() == cty.String && !in.count {
		hint = expr.DidYouMean(step.Key.AsString(), keys)
	}
	if hint == "" && in.count {
		hint = fmt.Sprintf(" It has %d, counted from 0.", len(keys))
	} else if hint == "" && len(keys) <= 8 {
		hint = fmt.Sprintf(" It has %s.", expr.Quoted(keys, "and"))
	}
	return fmt.Sprintf("There is no %s.%s", expr.Traversal(t), hint)
}

// edges adds an edge to every session in a value. Not ok: it contains something else.
func edges(v cty.Value, at hcl.Range, list []edge) ([]edge, bool) {
	switch {
	case v.IsNull():
		return list, false
	case v.Type().Equals(reference):
		return append(list, edge{to: v.EncapsulatedValue().(*instance), at: at}), true
	case !v.CanIterateElements():
		return list, false
	}
	ok := true
	for it := v.ElementIterator(); ok && it.Next(); {
		_, e := it.Element()
		list, ok = edges(e, at, list)
	}
	return list, ok
}

// settleDepends runs once the enabled sessions are known, so that no session waits for a disabled
// one.
func settleDepends(l *loader, all []*built) {
	by := map[*instance]*built{}
	for _, s := range all {
		by[s.in] = s
	}
	type result struct {
		targets []session.Address
		until   map[session.Address]session.Await
	}
	settled := map[*edge]result{} // shared by instances that share their edges
	for _, s := range all {
		if len(s.edges) == 0 {
			continue
		}
		first := &s.edges[0]
		r, done := settled[first]
		if !done {
			for _, e := range s.edges {
				if e.to.off {
					continue
				}
				r.targets = append(r.targets, e.to.address)
				if until := untilOf(l, s, e, by[e.to]); until != session.AwaitReady {
					if r.until == nil {
						r.until = map[session.Address]session.Await{}
					}
					r.until[e.to.address] = until
				}
			}
			slices.Sort(r.targets)
			r.targets = slices.Compact(r.targets)
			settled[first] = r
		}
		s.spec.DependsOn, s.spec.Until = r.targets, r.until
	}
	reported := map[string]bool{} // by the blocks of the cycle, whatever their instances
	w := walk[*built, edge]{
		edges: func(s *built) []edge {
			if s == nil { // not enabled
				return nil
			}
			return s.edges
		},
		to:    func(e edge) *built { return by[e.to] },
		leave: func(*built) {},
		cycle: func(steps []step[*built, edge]) {
			var blocks []string
			var b strings.Builder
			for _, s := range steps {
				blocks = append(blocks, s.from.block.Title())
				fmt.Fprintf(&b, "\n  %s depends on %s at %s", s.from.spec.Address, s.edge.to.address, expr.Place(s.edge.at))
			}
			slices.Sort(blocks)
			if key := strings.Join(slices.Compact(blocks), "\x00"); !reported[key] {
				reported[key] = true
				l.FailFor(string(steps[0].from.spec.Address), steps[0].edge.at, "Dependency cycle", "These sessions wait for each other, so none could ever start:%s", b.String())
			}
		},
	}
	for _, s := range all {
		w.visit(s)
	}
}

// untilOf returns the edge's until, or what its agent implies. It reports one never reached.
func untilOf(l *loader, s *built, e edge, to *built) session.Await {
	if to == nil || !to.ok {
		return session.AwaitReady
	}
	agent, wrong := to.spec.Agent, ""
	ends := agent.OneShot || to.spec.Finish != session.FinishNever
	switch {
	case e.until == "" && ends:
		return session.AwaitDone
	case e.until == "":
		return session.AwaitReady
	case e.until == session.AwaitTurn && agent.OneShot:
		wrong = fmt.Sprintf("%s runs the one-shot agent %q, which has no turns: it is done when it exits with 0. Use until = \"done\".", e.to.address, agent.Name)
	case e.until == session.AwaitVerified && !to.spec.Verify.Declared():
		wrong = fmt.Sprintf("%s has no verify block, so nothing verifies its work.", e.to.address)
	case e.until == session.AwaitDone && !ends:
		wrong = fmt.Sprintf("%s runs the interactive agent %q, which is never done: it waits for input after each turn. Declare finish = \"turn\" there, or use until = \"turn\" or \"ready\".", e.to.address, agent.Name)
	default:
		return e.until
	}
	l.FailFor(string(s.spec.Address), e.says, "Dependency that is never met", "%s", wrong)
	return e.until
}
