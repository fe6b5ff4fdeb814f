package config

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// readLifecycle reads a lifecycle block.
func readLifecycle(d reader, b *block, c *session.Lifecycle) {
	if b == nil {
		return
	}
	d.flag(b, "prevent_destroy", &c.PreventDestroy)
	readIgnoreChanges(d, b, c)
	readReplaceTriggeredBy(d, b, c)
}

// readIgnoreChanges reads a list of field paths, written bare, as texts, or as an
// expression that gives texts; or the word all.
func readIgnoreChanges(d reader, b *block, c *session.Lifecycle) {
	a := b.attr("ignore_changes")
	if a == nil {
		return
	}
	known := ignorable()
	var paths []string
	take := func(e hcl.Expression) {
		one := &attr{name: a.name, expr: e, rng: e.Range()}
		if path, ok := fieldPath(e); ok {
			paths = addField(d, one, path, known, paths)
			return
		}
		d.l.check(one, scope{variables: true, locals: true})
		v, ok := d.evaluate(one)
		if !ok || !d.plain(one, v) || v.IsNull() {
			return
		}
		if v.Type() == cty.String {
			paths = addField(d, one, v.AsString(), known, paths)
			return
		}
		var list []string
		holder := &block{attrs: map[string]*attr{a.name: one}}
		if d.words(holder, a.name, &list) {
			for _, p := range list {
				paths = addField(d, one, p, known, paths)
			}
		}
	}
	if list, diags := hcl.ExprList(a.expr); !diags.HasErrors() {
		for _, e := range list {
			take(e)
		}
	} else {
		take(a.expr)
	}
	slices.Sort(paths)
	c.IgnoreChanges = slices.Compact(paths)
}

// fieldPath is a bare path like health.interval. What starts with var, local or
// a function is no path.
func fieldPath(e hcl.Expression) (string, bool) {
	t, diags := hcl.AbsTraversalForExpr(e)
	if diags.HasErrors() {
		return "", false
	}
	path := traversal(t)
	return path, t.RootName() != "var" && t.RootName() != "local"
}

// addField adds one path if there is such a field.
func addField(d reader, a *attr, path string, known, paths []string) []string {
	if path != "all" && !slices.Contains(known, path) {
		d.fail(a, "Unknown field", "ignore_changes names %q, which is no attribute or block of a session.%s", cut(path), didYouMean(path, known))
		return paths
	}
	return append(paths, path)
}

// readReplaceTriggeredBy digests values of any kind: when one changes, so does the
// digest.
func readReplaceTriggeredBy(d reader, b *block, c *session.Lifecycle) {
	a := b.attr("replace_triggered_by")
	if a == nil {
		return
	}
	v, ok := d.evaluate(a)
	if !ok || !d.plain(a, v) || v.IsNull() {
		return
	}
	if t := v.Type(); !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		d.fail(a, "Wrong type", `"replace_triggered_by" needs a list of values: [local.areas, var.image].`)
		return
	}
	if v.LengthInt() == 0 {
		return
	}
	text, err := ctyjson.SimpleJSONValue{Value: v}.MarshalJSON()
	if err != nil {
		d.fail(a, "Wrong type", "\"replace_triggered_by\" holds what cannot be compared: %s.", strings.TrimSuffix(err.Error(), "."))
		return
	}
	sum := sha256.Sum256(text)
	c.ReplaceTrigger = hex.EncodeToString(sum[:])
}
