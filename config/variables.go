package config

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

type variable struct {
	block     *expr.Block
	typ       cty.Type
	defaults  *typeexpr.Defaults
	sensitive bool
	nullable  bool
	fallback  *given // its default
}

type given struct {
	value  cty.Value
	from   string    // the flag or variable, if not a file: --var, AGENTFORM_VAR_x
	at     hcl.Range // of the value, if in a file
	inFile bool
	broken bool // invalid, which was reported
}

func readVariables(l *loader, files valueFiles) (all cty.Value, hidden []string) {
	declared := map[string]*variable{}
	for _, b := range l.blocks["variable"] {
		declared[b.Labels[0]] = readVariable(l, b)
	}
	values := givenValues(l, declared, files)
	result := map[string]cty.Value{}
	for _, name := range l.known.variables {
		result[name] = settleVariable(l, name, declared[name], values[name])
	}
	ctx := l.ctx.NewChild()
	ctx.Variables = map[string]cty.Value{"var": cty.ObjectVal(result)}
	for _, name := range l.known.variables {
		v := declared[name]
		if v.sensitive {
			hidden = append(hidden, name)
		}
		l.checkAll(v.block, inValidation, "type", "default", "description", "sensitive", "nullable")
		if !validVariable(l, ctx, v, values[name]) {
			result[name] = v.unknown(result[name].Type()) // to report no consequences of it
		}
	}
	return cty.ObjectVal(result), hidden
}

// Only the validation of a variable may have references.
func readVariable(l *loader, b *expr.Block) *variable {
	v := &variable{block: b, typ: cty.DynamicPseudoType, nullable: true}
	if a := b.Attr("type"); a != nil {
		typ, defaults, diags := typeexpr.TypeConstraintWithDefaults(a.Expr)
		l.Add(diags)
		if diags.HasErrors() {
			typ, defaults = cty.DynamicPseudoType, nil
		}
		v.typ, v.defaults = typ, defaults
	}
	d := l.reader(nil)
	var description string
	d.Text(b, "description", &description)
	d.Flag(b, "sensitive", &v.sensitive)
	d.Flag(b, "nullable", &v.nullable)
	if a := b.Attr("default"); a != nil {
		v.fallback = constant(l, a.Expr, a.Range, false)
	}
	return v
}

// constant evaluates an expression without references.
func constant(l *loader, e hcl.Expression, at hcl.Range, secret bool) *given {
	l.eval.Watch.Enter(&at)
	value, diags := e.Value(nil)
	for _, d := range diags {
		d.Extra = expr.Note{Secret: secret}
	}
	l.Add(diags)
	return &given{value: value, at: e.Range(), inFile: true, broken: diags.HasErrors()}
}

func (v *variable) unknown(t cty.Type) cty.Value {
	if v.sensitive {
		return cty.UnknownVal(t).Mark(expr.Sensitive)
	}
	return cty.UnknownVal(t)
}

func settleVariable(l *loader, name string, v *variable, g *given) cty.Value {
	if g = cmp.Or(g, v.fallback); g == nil {
		l.Fail(v.block.Def, "No value for variable", "The variable %q has no default, so it needs a value: --var %s=…, the environment variable AGENTFORM_VAR_%s, or a line in agentform.vars.hcl.", name, name, name)
		return v.unknown(v.typ)
	}
	at, from := v.block.Def, ""
	if g.inFile {
		at = g.at
	} else {
		from = " (from " + g.from + ")"
	}
	wrong := func(summary, detail string, args ...any) cty.Value {
		l.Fail(at, summary, detail, args...)
		l.Diags[len(l.Diags)-1].Extra = expr.Note{Secret: g.inFile && v.sensitive}
		return v.unknown(v.typ)
	}
	if g.broken {
		return v.unknown(v.typ)
	}
	value := g.value
	if value.IsNull() && !v.nullable {
		if g == v.fallback || v.fallback == nil || v.fallback.broken || v.fallback.value.IsNull() {
			return wrong("Null for variable", "The variable %q cannot be null%s.", name, from)
		}
		value = v.fallback.value
	}
	if v.sensitive {
		l.HideAll(value)
	}
	if v.defaults != nil && !value.IsNull() {
		value = v.defaults.Apply(value)
	}
	converted, err := convert.Convert(value, v.typ)
	if err != nil {
		return wrong("Invalid value for variable", "The value of the variable %q%s does not have its type, %s: %s.", name, from, typeexpr.TypeString(v.typ), expr.Conversion(err))
	}
	if v.sensitive {
		return converted.Mark(expr.Sensitive)
	}
	return converted
}

// validVariable checks a value by its rules, with the values before any validation.
func validVariable(l *loader, ctx *hcl.EvalContext, v *variable, g *given) bool {
	if !ctx.Variables["var"].GetAttr(v.block.Labels[0]).IsKnown() {
		return true
	}
	d, good := l.reader(ctx), true
	g = cmp.Or(g, v.fallback)
	for _, rule := range v.block.Blocks["validation"] {
		holds, ok := readCondition(d, rule)
		good = good && holds
		var text string
		if !ok || !d.Word(rule, "error_message", &text) || holds {
			continue
		}
		condition := rule.Attr("condition").Expr
		diag := &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: "Invalid value for variable",
			Detail:     text + "\nThe rule is at " + expr.Place(condition.Range()) + ".",
			Subject:    v.block.Def.Ptr(),
			Expression: condition, EvalContext: ctx,
			Extra: expr.Note{Secret: g.inFile && v.sensitive},
		}
		if g.inFile {
			diag.Subject = &g.at
		} else {
			diag.Detail += " The value comes from " + g.from + "."
		}
		l.Add(hcl.Diagnostics{diag})
	}
	return good
}

// givenValues returns values by precedence: environment, agentform.vars.hcl, *.auto.vars.hcl,
// flags in their order.
func givenValues(l *loader, declared map[string]*variable, files valueFiles) map[string]*given {
	values := map[string]*given{}
	for _, name := range l.known.variables {
		key := "AGENTFORM_VAR_" + name
		if text, ok := l.Env[key]; ok {
			values[name] = literal(l, declared[name], text, key)
		}
	}
	for _, path := range files.auto {
		readValueFile(l, declared, values, files.bodies[path])
	}
	for _, flag := range l.opts.Vars {
		if flag.File != "" {
			readValueFile(l, declared, values, files.bodies[l.InProject(flag.File)])
			continue
		}
		v := declared[flag.Name]
		if v == nil {
			l.FailNowhere("Value for undeclared variable", "--var gives %q a value, but no variable block declares it.%s", flag.Name, expr.DidYouMean(flag.Name, l.known.variables))
			continue
		}
		values[flag.Name] = literal(l, v, flag.Value, "--var")
	}
	return values
}

type valueFiles struct {
	auto   []string            // paths of those that no flag names; the last counts
	bodies map[string]hcl.Body // by path; nil: invalid, which was reported
}

func readValueFiles(l *loader) valueFiles {
	out := valueFiles{bodies: map[string]hcl.Body{}}
	entries, err := os.ReadDir(l.Root)
	if err != nil {
		l.FailNowhere("Unreadable directory", "The directory %s cannot be read: %s.", l.Root, expr.Reason(err))
	}
	for _, e := range entries {
		switch path := filepath.Join(l.Root, e.Name()); {
		case e.IsDir():
		case e.Name() == "agentform.vars.hcl":
			out.auto = slices.Insert(out.auto, 0, path)
		case strings.HasSuffix(e.Name(), ".auto.vars.hcl") && e.Name()[0] != '.':
			out.auto = append(out.auto, path)
		}
	}
	paths := slices.Clone(out.auto)
	for _, flag := range l.opts.Vars {
		if flag.File != "" {
			paths = append(paths, l.InProject(flag.File))
		}
	}
	for _, path := range paths {
		if _, again := out.bodies[path]; !again {
			out.bodies[path], _ = l.ParseFile(path, l.Display(path))
		}
	}
	return out
}

func readValueFile(l *loader, declared map[string]*variable, values map[string]*given, body hcl.Body) {
	if body == nil {
		return
	}
	attrs, diags := body.JustAttributes()
	for _, d := range diags {
		if strings.HasPrefix(d.Summary, "Unexpected ") {
			d.Detail = "A file of values has only lines like name = value."
		}
	}
	l.Add(diags)
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		a := attrs[name]
		v := declared[name]
		if v == nil {
			l.Warn(a.Range, "Value for undeclared variable", "No variable block declares %q, so this value is not used.%s", name, expr.DidYouMean(name, l.known.variables))
			continue
		}
		values[name] = constant(l, a.Expr, a.Range, v.sensitive)
	}
}

// literal returns a string as the value of a simple type, else as the HCL expression in it.
func literal(l *loader, v *variable, text, from string) *given {
	g := &given{value: cty.StringVal(text), from: from}
	if v.typ == cty.DynamicPseudoType || v.typ.IsPrimitiveType() {
		return g
	}
	source := "<value of " + v.block.Labels[0] + ">"
	parsed, diags := expr.Parse(text, source, hcl.InitialPos)
	if !diags.HasErrors() {
		l.eval.Watch.Enter(&v.block.Def)
		g.value, diags = parsed.Value(nil)
	}
	if diags.HasErrors() {
		example := `["a", "b"]`
		if v.typ.IsMapType() || v.typ.IsObjectType() {
			example = `{ a = "b" }`
		}
		l.Fail(v.block.Def, "Invalid value for variable", "The variable %q has the type %s, so its value from %s must be an HCL expression like %s.", v.block.Labels[0], typeexpr.TypeString(v.typ), from, example)
		g.broken = true
	}
	return g
}
