package expr

import (
	"errors"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// refuseZero makes a division by zero an error, instead of an infinity as in HCL. It changes
// HCL's operators themselves: HCL parses the texts in JSON only when it evaluates them.
var refuseZero = sync.OnceFunc(func() {
	for _, op := range []*hclsyntax.Operation{hclsyntax.OpDivide, hclsyntax.OpModulo} {
		divide := op.Impl
		op.Impl = define(op.Type, func(args []cty.Value) (cty.Value, error) {
			if args[1].RawEquals(cty.Zero) {
				return cty.NilVal, errors.New("division by zero")
			}
			return divide.Call(args)
		}, divide.Params()...)
	}
})

// checkNumbers returns an error about each number that is too long to be written out.
func checkNumbers(n hclsyntax.Node) hcl.Diagnostics {
	return hclsyntax.VisitAll(n, func(n hclsyntax.Node) hcl.Diagnostics {
		if e, is := n.(*hclsyntax.LiteralValueExpr); is {
			if _, tooLarge := measure(e.Val, 0); tooLarge != "" {
				return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Value too large", Detail: "This is " + tooLarge + ".", Subject: &e.SrcRange}}
			}
		}
		return nil
	})
}
