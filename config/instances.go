package config

import (
	"slices"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

const maxSessions = 10_000

type instance struct {
	address session.Address
	key     cty.Value // of for_each or count; null without
	value   cty.Value // each.value
	off     bool      // not enabled
}

type instances struct {
	list   []instance
	single bool
	count  bool
	failed bool // unknown, which was reported
}

// expandBlocks evaluates no session, so that instances can depend on each other.
func expandBlocks(l *loader) (all map[string]*instances, ok bool) {
	all = map[string]*instances{}
	total := 0
	for _, b := range l.blocks["session"] {
		in := expandBlock(l, b)
		all[b.Labels[0]] = in
		if total += len(in.list); total > maxSessions {
			at := b.Def
			for _, name := range []string{"for_each", "count"} {
				if a := b.Attr(name); a != nil {
					at = a.Range
				}
			}
			l.Fail(at, "Too many sessions", "The project has more than %d sessions, which is the limit.", maxSessions)
			return nil, false
		}
	}
	return all, true
}

func expandBlock(l *loader, b *expr.Block) *instances {
	name, d := b.Labels[0], l.reader(l.ctx)
	each, count := b.Attr("for_each"), b.Attr("count")
	for _, a := range []*expr.Attr{each, count} {
		if a != nil {
			l.check(a, inProject)
		}
	}
	switch {
	case each != nil && count != nil:
		l.Fail(count.Range, "Both count and for_each", "A session block has count or for_each, not both; for_each is at %s.", expr.Place(each.Range))
		return &instances{failed: true}
	case each != nil:
		list, ok := elements(d, each)
		for i := range list {
			list[i].address = session.Keyed(name, list[i].key.AsString())
		}
		return &instances{list: list, failed: !ok}
	case count == nil:
		return &instances{single: true, list: []instance{{address: session.Single(name), key: cty.NullVal(cty.String)}}}
	}
	n := -1
	if d.Missing(b, "count") {
		d.Fail(count, "Invalid count", "%q must be a whole number, not null.", count.Name)
	}
	d.Whole(b, "count", 0, &n)
	out := &instances{count: true, failed: n < 0}
	for i := range min(n, maxSessions+1) {
		out.list = append(out.list, instance{address: session.Indexed(name, i), key: cty.NumberIntVal(int64(i))})
	}
	return out
}

// elements evaluates a for_each. Not ok: it is unknown, which was reported.
func elements(d reader, a *expr.Attr) ([]instance, bool) {
	v, ok := d.Evaluate(a)
	if !ok || !v.IsKnown() {
		return nil, false
	}
	t := v.Type()
	switch {
	case v.IsMarked(): // a set has the marks of its elements
		d.Fail(a, "Sensitive for_each", "Sensitive values are not allowed in for_each: its keys are part of addresses.")
		return nil, false
	case v.IsNull():
		d.Fail(a, "Invalid for_each", "for_each must be a map or a set of strings, not null.")
		return nil, false
	case t.IsTupleType() || t.IsListType():
		d.Fail(a, "Invalid for_each", "for_each must be a map or a set of strings, not a list, because indices change when elements are added; use toset(…).")
		return nil, false
	case !t.IsSetType() && !t.IsMapType() && !t.IsObjectType():
		d.Fail(a, "Invalid for_each", "for_each must be a map or a set of strings, not %s.", t.FriendlyName())
		return nil, false
	}
	var list []instance
	for it := v.ElementIterator(); it.Next(); { // once: it sorts a set
		key, value := it.Element()
		if t.IsSetType() {
			if key = value; !value.IsWhollyKnown() {
				return nil, false // its element type may be unknown, too
			}
		}
		list = append(list, instance{key: key, value: value})
	}
	switch {
	case t.IsSetType() && t.ElementType() != cty.String && len(list) > 0:
		d.Fail(a, "Invalid for_each", "for_each must be a map or a set of strings, not %s.", t.FriendlyName())
		return nil, false
	case slices.ContainsFunc(list, func(e instance) bool { return e.key.IsNull() }):
		d.Fail(a, "Invalid for_each", "for_each contains null, which cannot be a key.")
		return nil, false
	}
	return list, true
}

// standIn returns an instance for a block whose own are unknown, to report its other problems.
func standIn(b *expr.Block) *instance {
	i := &instance{address: session.Single(b.Labels[0]), key: cty.UnknownVal(cty.String), value: cty.DynamicVal}
	if b.Attr("count") != nil {
		i.key = cty.UnknownVal(cty.Number)
	}
	return i
}

func instanceContext(l *loader, b *expr.Block, in instance) *hcl.EvalContext {
	ctx := l.ctx.NewChild()
	ctx.Variables = map[string]cty.Value{}
	switch {
	case in.key.IsNull():
	case b.Attr("count") != nil:
		ctx.Variables["count"] = cty.ObjectVal(map[string]cty.Value{"index": in.key})
	default:
		ctx.Variables["each"] = cty.ObjectVal(map[string]cty.Value{"key": in.key, "value": in.value})
	}
	return ctx
}
