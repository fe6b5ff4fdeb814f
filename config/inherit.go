package config

import (
	"slices"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
	"github.com/zclconf/go-cty/cty"
)

// inheritEnv is the attribute that names variables of the caller's environment.
const inheritEnv = "inherit_env"

// inheritAttr describes inherit_env for a block whose sessions it is for.
func inheritAttr(forces, doc string) attribute {
	return attribute{name: inheritEnv, kind: trueOrTexts, forces: forces, defWords: "none", doc: doc}
}

// readInherit adds the variables that inherit_env names to a list; true adds all.
func readInherit(d reader, b *expr.Block, into *[]string) {
	a := b.Attr(inheritEnv)
	if a == nil {
		return
	}
	v, ok := d.Evaluate(a)
	if !ok || !d.Plain(a, v) || v.IsNull() {
		return
	}
	var names []string
	switch t := v.Type(); {
	case t == cty.Bool && v.True():
		names = []string{"*"}
	case t == cty.Bool:
	case !t.IsTupleType() && !t.IsListType() && !t.IsSetType():
		d.Fail(a, "Wrong type", `"inherit_env" needs true or a list of names, like ["NPM_TOKEN", "AWS_*"].`)
		return
	case !d.Words(b, inheritEnv, &names):
		return
	}
	for _, name := range names {
		switch {
		case !session.IsVariablePattern(name):
			d.Fail(a, "Invalid environment variable", "%q cannot name environment variables. Write a name, or a part of one with a star: AWS_*.", expr.Cut(name))
			return
		case session.NeverInherited(name):
			d.Fail(a, "Reserved environment variable", "%s belongs to the call in which agentform was started and is never passed on. A value of your own goes into env.", name)
			return
		}
	}
	all := append(slices.Clone(*into), names...)
	slices.Sort(all)
	*into = slices.Compact(all)
}

// inherited sets which variables of the caller's environment a session gets: those of
// the project and its own. A container gets none.
func inherited(d reader, m *Manifest, b *expr.Block, s *session.Spec) {
	if s.Runtime.Kind != "docker" {
		s.InheritEnv = slices.Clone(m.InheritEnv)
	} else if !d.Missing(b, inheritEnv) && b.Attr(inheritEnv) != nil {
		d.Fail(b.Attr(inheritEnv), "Environment of a container", `A container gets nothing of this machine's environment. Name what the agent needs in env, or in secrets.`)
		return
	}
	readInherit(d, b, &s.InheritEnv)
}
