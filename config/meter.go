package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// What evaluating a project may take: loops in loops are short to write and may
// not come to an end, nor leave anything of what they made.
const (
	maxSteps = 1 << 21 // rounds of all loops, or what functions do in as much time: a second or two
	maxMade  = 4       // values of the largest size that one expression makes on its way
	maxKept  = 16      // values of the largest size that all attributes come to together

	stepMake     = 256 // bytes of a text that is made that take as long as a step
	stepRead     = 32  // bytes of a text that a function reads, some letter by letter
	stepsSet     = 16  // steps that an element of a set takes, which is sorted
	longTemplate = 64  // parts
	longTuple    = 256 // elements
)

// meter counts what evaluating takes.
type meter struct {
	steps int  // of all expressions by now
	made  bulk // by the expression that is evaluated now
	kept  bulk // of all values that there are by now
	full  bool // one of these is too much, and that is told

	functions map[string]function.Function // that expressions call
}

// overrun ends an evaluation that takes too much. A loop of HCL's goes on to its
// end when an error is returned to it.
type overrun struct{}

func (m *meter) exceeded() bool { return m.steps > maxSteps || m.made.exceeds(maxMade) }

// make counts a value that came of a round of a loop, a part of a template or a
// function.
func (m *meter) make(v cty.Value) {
	held := bulkOf([]cty.Value{v})
	m.made = m.made.plus(held)
	m.steps += held.elements + held.text/stepMake
	if v.Type().IsSetType() {
		m.steps += stepsSet * lengthOf(v)
	}
}

// read counts the time that a function takes for an argument, which it may make a
// set of.
func (m *meter) read(v cty.Value, set bool) {
	v, _ = v.Unmark()
	t := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
	case t == cty.String:
		m.steps += len(v.AsString()) / stepRead
	case t == cty.Number:
		m.made.long = m.made.long || digits(v) > maxDigits
	case set || t.IsSetType():
		m.steps += stepsSet * lengthOf(v)
	default:
		m.steps += lengthOf(v)
	}
	if m.exceeded() {
		panic(overrun{})
	}
}

// counted is an expression that is evaluated once for each round of a loop, or
// that is a part of a template. It shows itself to those who walk through an
// expression as a pair of parentheses.
type counted struct {
	*hclsyntax.ParenthesesExpr
	meter *meter
	steps int // 0: it goes with another that counts the round
}

// Value counts the round, and what came of it.
func (c counted) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if c.meter.steps += c.steps; c.meter.exceeded() {
		panic(overrun{})
	}
	v, diags := c.Expression.Value(ctx)
	if c.meter.make(v); c.meter.exceeded() {
		panic(overrun{})
	}
	return v, diags
}

// UnwrapExpression is the expression itself, for those who ask what it is.
func (c counted) UnwrapExpression() hcl.Expression { return c.Expression }

// argument is an argument of a function. A long tuple whose elements have one type
// is given as a list where one is wanted: cty looks for their common type by
// comparing each with each.
type argument struct {
	*hclsyntax.ParenthesesExpr
	meter    *meter
	function string
	index    int
}

// UnwrapExpression is the argument itself, for those who ask what it is.
func (a argument) UnwrapExpression() hcl.Expression { return a.Expression }

// Value is the argument's, as a list where that is wanted. The time that a
// function takes for it is counted.
func (a argument) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := a.Expression.Value(ctx)
	want := cty.DynamicPseudoType
	if f, there := a.meter.functions[a.function]; there {
		if params := f.Params(); a.index < len(params) {
			want = params[a.index].Type
		} else if p := f.VarParam(); p != nil {
			want = p.Type
		}
	}
	a.meter.read(v, want.IsSetType())
	return uniform(v, want), diags
}

// uniform is a long tuple as a list if one is wanted and all elements have one
// type; else the value itself.
func uniform(v cty.Value, want cty.Type) cty.Value {
	v, marks := v.Unmark()
	if t := v.Type(); (want.IsListType() || want.IsSetType()) && t.IsTupleType() && v.IsKnown() && !v.IsNull() && v.LengthInt() > longTuple {
		types := t.TupleElementTypes()
		if !slices.ContainsFunc(types, func(t cty.Type) bool { return t == cty.DynamicPseudoType || !t.Equals(types[0]) }) {
			v = cty.ListVal(v.AsValueSlice())
		}
	}
	return v.WithMarks(marks)
}

// divisor is what a number is divided by, which may not be zero. cty makes
// infinity of that, and with it what no one meant.
type divisor struct {
	*hclsyntax.ParenthesesExpr
	operation *hclsyntax.BinaryOpExpr
}

// UnwrapExpression is the divisor itself, for those who ask what it is.
func (e divisor) UnwrapExpression() hcl.Expression { return e.Expression }

// Value is the divisor's, unless that is zero.
func (e divisor) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Expression.Value(ctx)
	n, marks := v.Unmark()
	if diags.HasErrors() || n.IsNull() || !n.IsKnown() {
		return v, diags
	}
	if n, err := convert.Convert(n, cty.Number); err != nil || !n.RawEquals(cty.Zero) {
		return v, diags
	}
	return cty.UnknownVal(cty.Number).WithMarks(marks), append(diags, &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: divisionByZero, Detail: "What stands behind the operator is zero.",
		Subject: e.operation.SrcRange.Ptr(), Expression: e.operation, EvalContext: ctx,
	})
}

const divisionByZero = "Division by zero"

// count puts the meter into all that stands below a node. It returns whether some
// of that may come to much, or to an infinity, and which numbers are too long.
func (m *meter) count(n hclsyntax.Node) (large bool, diags hcl.Diagnostics) {
	in := func(e hclsyntax.Expression) *hclsyntax.ParenthesesExpr {
		return &hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}
	}
	put := func(at *hclsyntax.Expression, steps int) {
		if *at != nil {
			*at = counted{in(*at), m, steps}
		}
	}
	diags = hclsyntax.VisitAll(n, func(n hclsyntax.Node) hcl.Diagnostics {
		switch e := n.(type) {
		case *hclsyntax.LiteralValueExpr:
			if held := bulkOf([]cty.Value{e.Val}); held.long {
				return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Value too large", Detail: "This is " + held.String() + ".", Subject: &e.SrcRange}}
			}
		case *hclsyntax.FunctionCallExpr:
			for i, arg := range e.Args {
				e.Args[i] = argument{in(arg), m, e.Name, i}
			}
		case *hclsyntax.BinaryOpExpr:
			if e.Op == hclsyntax.OpDivide || e.Op == hclsyntax.OpModulo {
				e.RHS = divisor{in(e.RHS), e}
				large = true // JSON's: zero is told only by an expression that was counted
			}
		case *hclsyntax.SplatExpr:
			put(&e.Each, 1)
			large = true
		case *hclsyntax.ForExpr:
			first, second := &e.CondExpr, &e.ValExpr
			if e.CondExpr == nil {
				first, second = second, first
			}
			put(first, 1)
			put(second, 0)
			put(&e.KeyExpr, 0)
			large = true
		case *hclsyntax.TemplateExpr:
			for i, part := range e.Parts {
				if _, fixed := part.(*hclsyntax.LiteralValueExpr); !fixed {
					put(&e.Parts[i], 1)
				}
			}
			large = large || len(e.Parts) > longTemplate
		}
		return nil
	})
	return large, diags
}

// value evaluates an expression that the meter was put into. What takes too much
// is one error about all of it.
func (m *meter) value(expr hcl.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	m.made = bulk{}
	v, diags := m.within(expr, ctx)
	if !m.exceeded() {
		return v, diags
	}
	d := &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "Value too large", Subject: expr.Range().Ptr(), Expression: expr, EvalContext: ctx,
		Detail: fmt.Sprintf("Evaluating this makes %s on the way.", m.made.over(maxMade)),
	}
	if m.steps > maxSteps {
		m.full = true
		d.Summary = "Project too large"
		d.Detail = fmt.Sprintf("With this, evaluating takes more than %d rounds of loops, or as long in functions.", maxSteps)
	}
	return cty.DynamicVal, hcl.Diagnostics{d}
}

// within evaluates an expression as a part of the one that is evaluated now.
func (m *meter) within(expr hcl.Expression, ctx *hcl.EvalContext) (v cty.Value, diags hcl.Diagnostics) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case overrun:
			v, diags = cty.DynamicVal, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Value too large", Detail: "Evaluating this takes too much."}}
		default:
			panic(r)
		}
	}()
	return expr.Value(ctx)
}

// keep adds a value to those that there are. It reports whether that is too much;
// then there is room for no other.
func (m *meter) keep(held bulk) (tooMuch bool) {
	m.kept = m.kept.plus(held)
	m.full = m.full || m.kept.exceeds(maxKept)
	return m.full
}

// jsonLoops is an attribute of a JSON manifest in whose texts there are loops or
// templates. HCL parses those texts only as it evaluates them, where no meter can
// be put in; so each is evaluated with one first.
type jsonLoops struct {
	hcl.Expression
	texts []hclsyntax.Expression
	meter *meter
}

// UnwrapExpression is the expression itself, for those who ask what it is.
func (j jsonLoops) UnwrapExpression() hcl.Expression { return j.Expression }

// Value is the expression's, unless it takes too much.
func (j jsonLoops) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if ctx != nil {
		for _, text := range j.texts {
			v, diags := text.Value(ctx)
			for _, d := range diags {
				if d.Summary == divisionByZero {
					return cty.DynamicVal, diags
				}
			}
			if bulkOf([]cty.Value{v}).tooMuch() {
				return v, nil
			}
		}
	}
	return j.Expression.Value(ctx)
}

// json is an expression of the JSON syntax with the meter put in; of another,
// itself.
func (m *meter) json(expr hcl.Expression) hcl.Expression {
	if !hcljson.IsJSONExpression(expr) {
		return expr
	}
	loops := jsonLoops{Expression: expr, meter: m}
	var gather func(hcl.Expression)
	gather = func(e hcl.Expression) {
		if pairs, diags := hcl.ExprMap(e); !diags.HasErrors() {
			for _, pair := range pairs {
				gather(pair.Key)
				gather(pair.Value)
			}
			return
		}
		if items, diags := hcl.ExprList(e); !diags.HasErrors() {
			for _, item := range items {
				gather(item)
			}
			return
		}
		text, _ := e.Value(nil) // without a context it is what stands there
		if text.IsNull() || !text.IsKnown() || text.Type() != cty.String {
			return
		}
		if parsed, diags := hclsyntax.ParseTemplate([]byte(text.AsString()), e.Range().Filename, e.Range().Start); !diags.HasErrors() {
			if large, _ := m.count(parsed); large {
				loops.texts = append(loops.texts, parsed)
			}
		}
	}
	gather(expr)
	if len(loops.texts) == 0 {
		return expr
	}
	return loops
}
