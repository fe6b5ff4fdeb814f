package expr

import (
	"errors"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// divisions maps HCL's division operators to ones that refuse zero, for which HCL returns infinity.
var divisions = map[*hclsyntax.Operation]*hclsyntax.Operation{
	hclsyntax.OpDivide: divideBy(hclsyntax.OpDivide),
	hclsyntax.OpModulo: divideBy(hclsyntax.OpModulo),
}

func divideBy(op *hclsyntax.Operation) *hclsyntax.Operation {
	impl := define(op.Type, func(args []cty.Value) (cty.Value, error) {
		if args[1].RawEquals(cty.Zero) {
			return cty.NilVal, errors.New("division by zero")
		}
		return op.Impl.Call(args)
	}, op.Impl.Params()...)
	return &hclsyntax.Operation{Impl: impl, Type: op.Type}
}

// prepare replaces the divisions below a node by ones that refuse zero, and returns an
// error about each number that is too long to be written out.
func prepare(n hclsyntax.Node) hcl.Diagnostics {
	return hclsyntax.VisitAll(n, func(n hclsyntax.Node) hcl.Diagnostics {
		switch e := n.(type) {
		case *hclsyntax.BinaryOpExpr:
			if op := divisions[e.Op]; op != nil {
				e.Op = op
			}
		case *hclsyntax.LiteralValueExpr:
			if _, tooLarge := measure(e.Val, 0); tooLarge != "" {
				return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Value too large", Detail: "This is " + tooLarge + ".", Subject: &e.SrcRange}}
			}
		}
		return nil
	})
}

// jsonDivisions is a JSON expression with divisions in its texts. HCL parses the texts
// when it evaluates them, so prepare cannot reach those, and each is parsed here as well.
type jsonDivisions struct {
	hcl.Expression
	texts []hclsyntax.Expression
}

// UnwrapExpression returns the expression for functions that examine its syntax.
func (j jsonDivisions) UnwrapExpression() hcl.Expression { return j.Expression }

// Value returns the expression's value, or an error about a division by zero.
func (j jsonDivisions) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if ctx != nil {
		for _, text := range j.texts {
			if v, diags := text.Value(ctx); diags.HasErrors() {
				return v, diags
			}
		}
	}
	return j.Expression.Value(ctx)
}

// Divided returns a JSON expression as one that refuses to divide by zero. It returns any
// other expression unchanged.
func Divided(expr hcl.Expression) hcl.Expression {
	if !hcljson.IsJSONExpression(expr) {
		return expr
	}
	var texts []hclsyntax.Expression
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
		text, _ := e.Value(nil) // without a context it is the literal text
		if text.IsNull() || !text.IsKnown() || text.Type() != cty.String {
			return
		}
		parsed, diags := hclsyntax.ParseTemplate([]byte(text.AsString()), e.Range().Filename, e.Range().Start)
		if !diags.HasErrors() && strings.ContainsAny(text.AsString(), "/%") && !prepare(parsed).HasErrors() {
			texts = append(texts, parsed)
		}
	}
	if gather(expr); len(texts) == 0 {
		return expr
	}
	return jsonDivisions{expr, texts}
}
