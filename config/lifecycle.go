package config

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// readIgnoreChanges decodes all, or fields as references, strings or expressions. With Kubernetes they
// can also be those of the StatefulSet.
func readIgnoreChanges(d reader, b *expr.Block, s *session.Spec) {
	a := b.Attr("ignore_changes")
	if a == nil {
		return
	}
	known := language.Ignorable()
	var paths []string
	add := func(a *expr.Attr, path string) {
		switch {
		case path == "all", slices.Contains(known, path):
			paths = append(paths, path)
		case !strings.HasPrefix(path, session.SetFields):
			d.Fail(a, "Unknown field", "%q is not an attribute or block of a session.%s", expr.Cut(path), expr.DidYouMean(path, known))
		case s.Runtime.Kind != "" && s.Runtime.Kubernetes == nil:
			d.Fail(a, "Unknown field", "%q is a field of a StatefulSet, and %s does not run in Kubernetes.", expr.Cut(path), s.Address)
		default:
			paths = append(paths, path)
		}
	}
	take := func(e hcl.Expression) {
		one := &expr.Attr{Name: a.Name, Expr: e, Range: e.Range()}
		if path, ok := fieldPath(e); ok {
			add(one, path)
			return
		}
		d.l.check(one, scope{variables: true, locals: true})
		v, ok := d.Evaluate(one)
		if !ok || !d.Plain(one, v) || v.IsNull() {
			return
		}
		if v.Type() == cty.String {
			add(one, v.AsString())
			return
		}
		var list []string
		holder := &expr.Block{Attrs: map[string]*expr.Attr{a.Name: one}}
		if d.Words(holder, a.Name, &list) {
			for _, p := range list {
				add(one, p)
			}
		}
	}
	if list, diags := hcl.ExprList(a.Expr); !diags.HasErrors() {
		for _, e := range list {
			take(e)
		}
	} else {
		take(a.Expr)
	}
	slices.Sort(paths)
	s.Lifecycle.IgnoreChanges = slices.Compact(paths)
}

// fieldPath returns a path that is a reference, like health.interval.
func fieldPath(e hcl.Expression) (string, bool) {
	t, diags := hcl.AbsTraversalForExpr(e)
	if diags.HasErrors() {
		return "", false
	}
	path := expr.Traversal(t)
	return path, t.RootName() != "var" && t.RootName() != "local"
}

// readReplaceTriggeredBy sets the digest of the values, which changes when one of them does.
func readReplaceTriggeredBy(d reader, b *expr.Block, c *session.Lifecycle) {
	a := b.Attr("replace_triggered_by")
	if a == nil {
		return
	}
	v, ok := d.Evaluate(a)
	if !ok || !d.Plain(a, v) || v.IsNull() {
		return
	}
	if t := v.Type(); !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		d.Fail(a, "Wrong type", `"replace_triggered_by" must be a list of values: [local.areas, var.image].`)
		return
	}
	if v.LengthInt() == 0 {
		return
	}
	text, err := ctyjson.SimpleJSONValue{Value: v}.MarshalJSON()
	if err != nil {
		d.Fail(a, "Wrong type", "\"replace_triggered_by\" has a value that cannot be compared: %s.", strings.TrimSuffix(err.Error(), "."))
		return
	}
	sum := sha256.Sum256(text)
	c.ReplaceTrigger = hex.EncodeToString(sum[:])
}
