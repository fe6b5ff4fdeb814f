package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// scope has the references for a block's expressions, in addition to path and functions.
type scope struct {
	variables, locals, agents bool
	each, count, self         bool
	sessions                  bool
}

var (
	inValidation = scope{variables: true}
	inProject    = scope{variables: true, locals: true, agents: true}
)

// newContext leaves out variables and locals, which are added once they are known.
func newContext(l *loader) *hcl.EvalContext {
	repo := l.Repository(l.Module)
	path := map[string]cty.Value{"module": cty.StringVal(l.Module), "repo": cty.StringVal(repo), "root": cty.StringVal(l.Root)}
	if repo == "" {
		path["repo"] = cty.NullVal(cty.String)
	}
	agents := map[string]cty.Value{}
	for _, name := range l.known.agents {
		agents[name] = cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name)})
	}
	runtimes := map[string]cty.Value{}
	for kind, list := range l.known.runtimes {
		of := map[string]cty.Value{}
		for _, name := range list {
			of[name] = cty.ObjectVal(map[string]cty.Value{"kind": cty.StringVal(kind), "name": cty.StringVal(name)})
		}
		runtimes[kind] = cty.ObjectVal(of)
	}
	return &hcl.EvalContext{
		Variables: map[string]cty.Value{
			"path":    cty.ObjectVal(path),
			"agent":   cty.ObjectVal(agents),
			"runtime": cty.ObjectVal(runtimes),
		},
		Functions: expr.Functions(l.Dirs, l.Problems, l.eval.Watch),
	}
}

func (l *loader) checkAll(b *expr.Block, s scope, except ...string) {
	for _, a := range b.Sorted() {
		if !slices.Contains(except, a.Name) {
			l.check(a, s)
		}
	}
	for _, list := range b.Blocks {
		for _, child := range list {
			l.checkAll(child, s, except...)
		}
	}
}

func (l *loader) check(a *expr.Attr, s scope) {
	for _, t := range a.Expr.Variables() {
		root := t.RootName()
		if root == "each" || root == "count" || root == "self" {
			a.PerInstance = true
		}
		if summary, detail := l.wrong(t, s); summary != "" {
			a.Bad = true
			l.Fail(t.SourceRange(), summary, "%s", detail)
		}
	}
}

// wrong returns no summary if nothing is wrong with a reference.
func (l *loader) wrong(t hcl.Traversal, s scope) (summary, detail string) {
	name := ""
	if len(t) > 1 {
		switch step := t[1].(type) {
		case hcl.TraverseAttr:
			name = step.Name
		case hcl.TraverseIndex:
			if step.Key.Type() == cty.String {
				name = step.Key.AsString()
			}
		}
	}
	among := func(kind string, known []string, declare string) (string, string) {
		if name == "" {
			return "Incomplete reference", fmt.Sprintf("%q must be followed by a name, as in %s.NAME.", t.RootName(), t.RootName())
		}
		if _, declared := slices.BinarySearch(known, name); declared {
			return "", ""
		}
		return "Reference to undeclared " + kind, fmt.Sprintf("There is no %s named %q%s.%s", kind, name, declare, expr.DidYouMean(name, known))
	}
	fixed := func(known ...string) (string, string) {
		if slices.Contains(known, name) {
			return "", ""
		}
		return "Invalid reference", fmt.Sprintf("%q has only %s.%s", t.RootName(), expr.Quoted(known, "and"), expr.DidYouMean(name, known))
	}
	root := t.RootName()
	for _, r := range []struct {
		root   string
		here   bool
		detail string
	}{
		{"var", s.variables, "Variables cannot be used here."},
		{"local", s.locals, "Locals cannot be used here: they are evaluated later."},
		{"agent", s.agents, "Agents cannot be used here."},
		{"runtime", s.agents, "Runtimes cannot be used here."},
		{"session", s.sessions, "Sessions can be used only in depends_on, outputs and checks, and as addresses in moved, removed and import blocks: their attributes are known only after all sessions are evaluated."},
		{"each", s.each, `"each" can be used only in a block that sets for_each.`},
		{"count", s.count, `"count" can be used only in a session that sets count.`},
		{"self", s.self, `"self" can be used only in a session, except in for_each, count and enabled.`},
	} {
		if root == r.root && !r.here {
			return "Reference in the wrong place", r.detail
		}
	}
	switch root {
	case "var":
		return among("variable", l.known.variables, "; declare it in a variable block")
	case "local":
		return among("local value", l.known.locals, "; define it in a locals block")
	case "agent":
		return among("agent", l.known.agents, "; declare it in an agent block")
	case "session":
		return among("session", l.known.sessions, "; declare it in a session block")
	case "each":
		return fixed("key", "value")
	case "count":
		return fixed("index")
	case "self":
		return fixed("address", "name", "key", "role", "branch")
	case "runtime":
		if kinds := []string{"docker", "kubernetes", "tmux"}; !slices.Contains(kinds, name) {
			return fixed(kinds...)
		}
		step, ok := nth(t, 2).(hcl.TraverseAttr)
		switch {
		case !ok:
			return "Incomplete reference", fmt.Sprintf("runtime.%s must be followed by a name, as in runtime.%s.NAME.", name, name)
		case !slices.Contains(l.known.runtimes[name], step.Name):
			return "Reference to undeclared runtime", fmt.Sprintf("There is no block runtime %q %q.%s", name, step.Name, expr.DidYouMean(step.Name, l.known.runtimes[name]))
		}
		return "", ""
	case "path":
		return fixed("module", "repo", "root")
	}
	roots := []string{"var", "local", "agent", "session", "runtime", "each", "count", "path", "self"}
	hint := expr.DidYouMean(root, roots)
	switch {
	case slices.Contains(l.known.locals, root):
		hint = fmt.Sprintf(" Did you mean local.%s?", root)
	case slices.Contains(l.known.variables, root):
		hint = fmt.Sprintf(" Did you mean var.%s?", root)
	case hint == "":
		hint = fmt.Sprintf(" A reference starts with %s; a string is in quotes.", strings.Join(roots, ", "))
	}
	return "Invalid reference", fmt.Sprintf("There is nothing called %q.%s", root, hint)
}

func nth(t hcl.Traversal, n int) hcl.Traverser {
	if n >= len(t) {
		return nil
	}
	return t[n]
}
