package config

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// readResults returns the outputs and evaluates the checks.
func readResults(l *loader, m *Manifest, instances map[string]*instances, all []*built) (list []Output) {
	outputs, checks := l.blocks["output"], l.blocks["check"]
	if len(outputs)+len(checks) == 0 {
		return nil
	}
	ctx := l.ctx.NewChild()
	if slices.ContainsFunc(slices.Concat(outputs, checks), refersToSessions) {
		ctx.Variables = map[string]cty.Value{"session": sessionValues(l, m, instances, all)}
	}
	d := l.reader(ctx)
	s := inProject
	s.sessions = true
	for _, b := range outputs {
		l.checkAll(b, s)
		if o, ok := readOutput(d, b); ok {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b Output) int { return strings.Compare(a.Name, b.Name) })
	for _, b := range checks {
		l.checkAll(b, s)
		readCheck(d, b)
	}
	return list
}

func refersToSessions(b *expr.Block) bool {
	for _, a := range b.Attrs {
		if slices.ContainsFunc(a.Expr.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "session" }) {
			return true
		}
	}
	for _, list := range b.Blocks {
		if slices.ContainsFunc(list, refersToSessions) {
			return true
		}
	}
	return false
}

func readOutput(d reader, b *expr.Block) (Output, bool) {
	o := Output{Name: b.Labels[0]}
	d.Text(b, "description", &o.Description)
	d.Flag(b, "sensitive", &o.Sensitive)
	a := b.Attr("value")
	if a == nil {
		if !b.Broken {
			d.FailAt(b.Def, "Missing value", "%s needs a value.", b.Title())
		}
		return o, false
	}
	v, ok := d.Evaluate(a)
	if !ok {
		return o, false
	}
	if v.ContainsMarked() && !o.Sensitive {
		d.Fail(a, "Sensitive output", "The value is sensitive. To allow that, set sensitive = true; the output is then shown only when requested by name.")
		return o, false
	}
	v, _ = v.UnmarkDeep()
	if !v.IsWhollyKnown() {
		if !d.l.Failed() {
			d.Fail(a, "Value not known", "The value of this output cannot be determined.")
		}
		return o, false
	}
	text, err := ctyjson.SimpleJSONValue{Value: v}.MarshalJSON()
	if err != nil {
		d.Fail(a, "Wrong type", "This value cannot be written as JSON: %s.", strings.TrimSuffix(err.Error(), "."))
		return o, false
	}
	o.Value = json.RawMessage(text)
	return o, true
}

// readCheck warns of false assertions.
func readCheck(d reader, b *expr.Block) {
	rules := b.Blocks["assert"]
	if len(rules) == 0 && !b.Broken {
		d.FailAt(b.Def, "Missing assert", "%s needs an assert block with condition and error_message, each on its own line.", b.Title())
	}
	for _, rule := range rules {
		holds, ok := readCondition(d, rule)
		var message string
		if !ok || !d.Word(rule, "error_message", &message) || holds {
			continue
		}
		a := rule.Attr("condition")
		d.l.Add(hcl.Diagnostics{{
			Severity: hcl.DiagWarning, Summary: "Check failed: " + b.Labels[0], Detail: message,
			Subject: a.Expr.Range().Ptr(), Expression: a.Expr, EvalContext: d.Ctx,
		}})
	}
}

// readCondition holds if it is unknown. Not ok: the rule is invalid, which was reported.
func readCondition(d reader, rule *expr.Block) (holds, ok bool) {
	for _, name := range []string{"condition", "error_message"} {
		if rule.Attr(name) == nil && !rule.Broken {
			d.l.Fail(rule.Def, "Incomplete rule", "A rule needs a condition and an error_message, but has no %s.", name)
			rule.Broken = true
		}
	}
	condition := rule.Attr("condition")
	if condition == nil || rule.Attr("error_message") == nil {
		return false, false
	}
	got, ok := d.Evaluate(condition)
	if !ok {
		return false, false
	}
	got, _ = got.UnmarkDeep()
	if !got.IsKnown() {
		return true, true
	}
	is, err := convert.Convert(got, cty.Bool)
	if err != nil || is.IsNull() {
		d.Fail(condition, "Wrong type", `"condition" must be true or false.`)
		return false, false
	}
	return is.True(), true
}

var sessionType = cty.Object(map[string]cty.Type{
	"address": cty.String, "name": cty.String, "key": cty.String, "role": cty.String, "agent": cty.String,
	"branch": cty.String, "prompt": cty.String, "workspace": cty.String, "desired": cty.String, "labels": cty.Map(cty.String),
})

// sessionValues has null for a session that is not enabled, unknown for a faulty one.
func sessionValues(l *loader, m *Manifest, instances map[string]*instances, all []*built) cty.Value {
	by := make(map[*instance]cty.Value, len(all))
	for _, s := range all {
		v := cty.UnknownVal(sessionType)
		if s.ok {
			path := s.spec.Workspace.Path
			if l.opts.Workspace != nil {
				path = l.opts.Workspace(m, s.spec)
			}
			v = sessionValue(s, path)
		}
		by[s.in] = v
	}
	return sessionObject(instances, sessionType, false, func(i *instance) cty.Value {
		if v, ok := by[i]; ok {
			return v
		}
		return cty.NullVal(sessionType)
	})
}

func sessionValue(s *built, workspace string) cty.Value {
	orNull := func(text string) cty.Value {
		if text == "" {
			return cty.NullVal(cty.String)
		}
		return cty.StringVal(text)
	}
	labels := cty.MapValEmpty(cty.String)
	if s.spec.Labels != nil {
		labels, _ = gocty.ToCtyValue(s.spec.Labels, labels.Type()) // of strings
	}
	key := cty.NullVal(cty.String)
	if k, keyed := s.spec.Address.Key(); keyed {
		key = cty.StringVal(k)
	}
	return cty.ObjectVal(map[string]cty.Value{
		"address":   cty.StringVal(string(s.spec.Address)),
		"name":      cty.StringVal(s.spec.Address.Block()),
		"key":       key,
		"role":      cty.StringVal(s.spec.Role),
		"agent":     cty.StringVal(s.spec.Agent.Name),
		"branch":    orNull(s.spec.Branch),
		"prompt":    orNull(s.spec.Prompt.Digest),
		"workspace": orNull(workspace),
		"desired":   cty.StringVal(string(s.spec.Desired)),
		"labels":    labels,
	})
}
