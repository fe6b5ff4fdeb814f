package expr

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// errUntold is the error of a function that has a sensitive value among its arguments:
// many functions quote what they were given.
var errUntold = errors.New("what is wrong is not told, because a sensitive value is among the arguments")

// guard wraps a function. It stops when the load is over, makes nothing larger than a
// value may be in one allocation, and quotes no sensitive value in its errors. The
// errors of a template can only quote its text: what it calls is guarded itself.
func guard(name string, f function.Function, w *Watch) function.Function {
	params, rest := f.Params(), f.VarParam()
	told := func(err error, args []cty.Value) error {
		if strings.HasPrefix(name, "template") {
			args = args[:min(1, len(args))]
		}
		if err == nil || !slices.ContainsFunc(args, cty.Value.ContainsMarked) {
			return err
		}
		var arg function.ArgError
		if errors.As(err, &arg) {
			return function.NewArgError(arg.Index, errUntold)
		}
		return errUntold
	}
	takes := func(args []cty.Value) (_ []cty.Value, err error) {
		args = slices.Clone(args)
		for i, a := range args {
			p := rest
			if i < len(params) {
				p = &params[i]
			}
			if !p.Type.IsListType() && !p.Type.IsSetType() {
				continue
			}
			if args[i], err = convert.Convert(uniform(a, p.Type), p.Type); err != nil {
				return nil, function.NewArgError(i, err)
			}
		}
		return args, nil
	}
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      forwarded(params),
		VarParam:    forwardedVar(rest),
		Type: func(args []cty.Value) (cty.Type, error) {
			w.check()
			given, err := takes(args)
			if err != nil {
				return cty.NilType, err // a conversion quotes nothing
			}
			if err := tooLarge(name, given); err != nil {
				return cty.NilType, told(err, args)
			}
			t, err := f.ReturnTypeForValues(given)
			return t, told(err, args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			given, err := takes(args)
			if err != nil {
				return cty.NilVal, err
			}
			v, err := f.Call(given)
			if err != nil {
				return v, told(err, args)
			}
			if n, _ := v.Unmark(); n.Type() == cty.Number && n.IsKnown() && !n.IsNull() && n.AsBigFloat().IsInf() {
				return cty.NilVal, errors.New("the result is infinite")
			}
			return v, nil
		},
	})
}

// forwarded returns parameters that take any argument, for a function that passes its
// arguments on to one that checks them.
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
	if q.Type.IsListType() || q.Type.IsSetType() {
		q.Type = cty.DynamicPseudoType
	}
	q.AllowNull, q.AllowUnknown, q.AllowDynamicType, q.AllowMarked = true, true, true, true
	return &q
}

// longTuple is the length from which a conversion takes long: cty finds the common type
// of a tuple's elements by comparing each with each.
const longTuple = 256

// uniform returns a long tuple as a list if a list or a set is wanted and all elements
// have one type. It returns any other value as it is.
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

// wide finds a width or a precision of more than four digits in a format.
var wide = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?[.\d]*\d{5}`) })

// tooLarge returns an error about a call that would allocate more than a value may take
// at once, or nest deeper than the stack allows: the watchdog would come too late.
func tooLarge(name string, args []cty.Value) error {
	text := func(i int) string {
		if i >= len(args) {
			return ""
		}
		v, _ := args[i].Unmark()
		if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
			return ""
		}
		return v.AsString()
	}
	length := func(v cty.Value) float64 {
		v, _ = v.Unmark()
		if !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
			return 0
		}
		return float64(v.LengthInt())
	}
	size := 0.0
	switch name {
	case "format", "formatlist":
		if verb := wide().FindString(text(0)); verb != "" {
			return function.NewArgErrorf(0, "%q asks for a width or a precision of more than four digits", Cut(verb))
		}
	case "indent":
		if n, _ := args[0].Unmark(); n.Type() == cty.Number && n.IsKnown() && !n.IsNull() {
			spaces, _ := n.AsBigFloat().Float64()
			size = spaces * float64(strings.Count(text(1), "\n")+1)
		}
	case "join":
		for _, list := range args[1:] {
			size += float64(len(text(0))) * length(list)
		}
	case "replace":
		size = float64(strings.Count(text(0), text(1))) * float64(len(text(2)))
	case "setproduct":
		size = elementSize
		for _, set := range args {
			size *= length(set)
		}
	case "jsondecode":
		if deepJSON([]byte(text(0)), "") != nil {
			return errors.New("brackets are nested more than 200 deep")
		}
	case "yamldecode":
		if deepYAML(text(0)) {
			return errors.New("brackets or lists are nested more than 200 deep")
		}
	}
	if size > maxValue {
		return fmt.Errorf("the result would be larger than %d MiB", maxValue>>20)
	}
	return nil
}
