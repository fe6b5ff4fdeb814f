package config

import (
	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
)

// readFallback reads the agents of a limits block that may continue the work of the session's own.
func readFallback(d reader, b *expr.Block, of blockInputs, s *session.Spec) {
	a := b.Attr("fallback")
	falls := s.Limits.OnQuota == session.QuotaFallsBack
	if a == nil || d.Missing(b, "fallback") {
		if falls {
			d.Fail(b.Attr("on_quota"), "Missing fallback", "on_quota = \"fallback\" needs a list of agents: fallback = [%s].", others(d.l.known.agents, s.Agent.Name))
		}
		return
	}
	if !falls {
		d.l.Warn(b.At("fallback"), "Fallback without effect", "Its agents are used only with on_quota = \"fallback\".")
	}
	if falls && s.Agent.Name != "" && s.Agent.Base == "" {
		d.l.Warn(b.At("fallback"), "Fallback without effect", "Whether the agent %q is at a spent quota is not known: it has no base.", s.Agent.Name)
	}
	seen := map[string]bool{}
	for _, one := range listed(d, a) {
		name, ok := agentName(d, one)
		if !ok {
			continue
		}
		found, ok := agentNamed(d, one, of, name)
		switch {
		case !ok || of.broken[name]:
		case name == s.Agent.Name:
			d.Fail(one, "Fallback to the same agent", "The session runs the agent %q itself.", name)
		case seen[name]:
			d.Fail(one, "Fallback listed twice", "The agent %q is in the list already.", name)
		case found.Spec.PromptVia == "none":
			d.Fail(one, "Fallback without a prompt", "The agent %q has prompt_via = \"none\", so it is given no prompt.", name)
		case found.Spec.OneShot != s.Agent.OneShot:
			d.Fail(one, "Fallback of another kind", "One of %q and %q is one-shot, and the other is not: they end their work differently.", s.Agent.Name, name)
		default:
			s.Limits.Fallback = append(s.Limits.Fallback, found.Spec)
		}
		seen[name] = true
	}
}

// listed returns the elements of a list as attributes of their own, each with its place if it has
// one.
func listed(d reader, a *expr.Attr) (all []*expr.Attr) {
	if list, diags := hcl.ExprList(a.Expr); !diags.HasErrors() {
		anything := scope{variables: true, locals: true, agents: true, each: true, count: true, self: true}
		for _, e := range list {
			one := &expr.Attr{Name: a.Name, Expr: e, Range: e.Range()}
			for _, t := range e.Variables() {
				if summary, _ := d.l.wrong(t, anything); summary != "" {
					one.Bad = true // which was reported
				}
			}
			all = append(all, one)
		}
		return all
	}
	v, ok := d.Evaluate(a)
	if !ok || !d.Plain(a, v) {
		return nil
	}
	if v.IsNull() || !v.CanIterateElements() || v.Type().IsObjectType() {
		d.Fail(a, "Wrong type", `"%s" must be a list of agents: %s = [%s].`, a.Name, a.Name, others(d.l.known.agents, ""))
		return nil
	}
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		all = append(all, &expr.Attr{Name: a.Name, Expr: hcl.StaticExpr(e, a.Expr.Range()), Range: a.Range})
	}
	return all
}

// others returns a reference to an agent with another name, as an example.
func others(agents []string, name string) string {
	for _, a := range agents {
		if a != name {
			return "agent." + a
		}
	}
	return "agent.NAME"
}
