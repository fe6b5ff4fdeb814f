package config

import (
	"slices"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
	"github.com/zclconf/go-cty/cty"
)

const inheritEnv = "inherit_env"

// readInherit adds the variables of inherit_env to a list; true adds all.
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
		d.Fail(a, "Wrong type", `"inherit_env" must be true or a list of names, like ["NPM_TOKEN", "AWS_*"].`)
		return
	case !d.Words(b, inheritEnv, &names):
		return
	}
	for _, name := range names {
		switch {
		case !session.IsVariablePattern(name):
			d.Fail(a, "Invalid environment variable", "%q is not a name of environment variables, use NPM_TOKEN or AWS_*.", expr.Cut(name))
			return
		case session.NeverInherited(name):
			d.Fail(a, "Reserved environment variable", "%s belongs to the process that started agentform and is never passed on. Set your own value in env.", name)
			return
		}
	}
	all := append(slices.Clone(*into), names...)
	slices.Sort(all)
	*into = slices.Compact(all)
}

// inherited reads inherit_env over the project's. A container gets none.
func inherited(d reader, m *Manifest, b *expr.Block, s *session.Spec) {
	if !s.Runtime.Traits().OwnHome {
		s.InheritEnv = slices.Clone(m.InheritEnv)
	} else if !d.Missing(b, inheritEnv) && b.Attr(inheritEnv) != nil {
		d.Fail(b.Attr(inheritEnv), "Environment of a container", `A container does not get this machine's environment. Set what the agent needs in env or secrets.`)
		return
	}
	readInherit(d, b, &s.InheritEnv)
}
