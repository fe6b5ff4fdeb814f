package expr

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// errRedacted replaces errors of functions with a sensitive argument, which they may quote.
var errRedacted = errors.New("the error is hidden, because an argument is sensitive")

// guard wraps a function: it stops when the load has ended, refuses to allocate too much, and
// its errors quote no sensitive value. Those of a template can quote only its text, as the
// functions in it are guarded.
func guard(name string, f function.Function, w *Watch) function.Function {
	params, rest := f.Params(), f.VarParam() // copies
	for i := range params {
		forward(&params[i])
	}
	if rest != nil {
		forward(rest)
	}
	redact := func(err error, args []cty.Value) error {
		if strings.HasPrefix(name, "template") {
			args = args[:min(1, len(args))]
		}
		if err == nil || !slices.ContainsFunc(args, cty.Value.ContainsMarked) {
			return err
		}
		if arg, is := errors.AsType[function.ArgError](err); is {
			return function.NewArgError(arg.Index, errRedacted)
		}
		return errRedacted
	}
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      params,
		VarParam:    rest,
		Type: func(args []cty.Value) (cty.Type, error) {
			w.check()
			if err := tooLarge(name, args); err != nil {
				return cty.NilType, redact(err, args)
			}
			t, err := f.ReturnTypeForValues(args)
			return t, redact(err, args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err != nil {
				return v, redact(err, args)
			}
			if n, _ := v.Unmark(); n.Type() == cty.Number && n.IsKnown() && !n.IsNull() && n.AsBigFloat().IsInf() {
				return cty.NilVal, errors.New("the result is infinite")
			}
			return v, nil
		},
	})
}

// forward makes a parameter accept what the guarded function checks itself.
func forward(p *function.Parameter) {
	p.AllowNull, p.AllowUnknown, p.AllowDynamicType, p.AllowMarked = true, true, true, true
}

// longTuple is the length from which cty's conversion to a list, which is quadratic, is slow.
const longTuple = 256

// uniform returns a long tuple of one type as a list, if a list or a set is wanted.
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

var wide = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?[.\d]*\d{5}`) })

// tooLarge returns an error about a call that would allocate more than a value can have at
// once, or that could overflow the stack. The watchdog would be too late for either.
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
			return function.NewArgErrorf(0, "%q has a width or a precision of more than four digits", Cut(verb))
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
