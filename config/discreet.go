package config

import (
	"errors"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// errUntold is what a function's error says when a sensitive value is among its
// arguments: many quote what they were given, or the part of it that they stumble
// over.
var errUntold = errors.New("what is wrong is not told, because a sensitive value is among the arguments")

// discreet is a function's error about its arguments, which quotes no sensitive
// value.
func discreet(err error, args []cty.Value) error {
	if err == nil || !slices.ContainsFunc(args, cty.Value.ContainsMarked) {
		return err
	}
	var arg function.ArgError
	if errors.As(err, &arg) {
		return function.NewArgError(arg.Index, errUntold)
	}
	return errUntold
}

// forwarded are parameters of a function that gives its arguments on as they are
// to another, which says itself what it does not take.
func forwarded(params []function.Parameter) []function.Parameter {
	params = slices.Clone(params)
	for i := range params {
		params[i] = *forwardedVar(&params[i])
	}
	return params
}

func forwardedVar(p *function.Parameter) *function.Parameter {
	if p == nil {
		return nil
	}
	q := *p
	q.AllowNull, q.AllowUnknown, q.AllowDynamicType, q.AllowMarked = true, true, true, true
	return &q
}

// conceal takes a sensitive key out of a problem in which HCL quotes it.
func conceal(d *hcl.Diagnostic) {
	if d.Summary != "Duplicate object key" || d.Expression == nil || d.EvalContext == nil {
		return
	}
	if key, _ := d.Expression.Value(d.EvalContext); key.ContainsMarked() {
		d.Detail = "Two different items produced the same key in this 'for' expression; it is not told, because it is sensitive."
	}
}
