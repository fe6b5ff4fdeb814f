package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// What one expression may come to. A few lines can ask for more than any machine
// has: a local that doubles another, twenty times over. 5000 sessions with ten
// attributes each are a twentieth of it.
const (
	maxElements = 1 << 20  // of lists, sets, maps and objects, all that are in it
	maxText     = 16 << 20 // bytes of all texts in it
	maxWidth    = 4096     // of one verb of a format
)

// bulk is how much a value holds.
type bulk struct{ elements, text int }

func (b bulk) tooMuch() bool { return b.elements > maxElements || b.text > maxText }

// String says what is too much.
func (b bulk) String() string {
	if b.elements > maxElements {
		return fmt.Sprintf("more than %d elements", maxElements)
	}
	return fmt.Sprintf("more than %d MiB of text", maxText>>20)
}

// add adds what a value holds, and stops once it is too much.
func (b *bulk) add(v cty.Value) {
	v, _ = v.Unmark()
	switch t := v.Type(); {
	case v.IsNull() || !v.IsKnown():
	case t == cty.String:
		b.text += len(v.AsString())
	case v.CanIterateElements():
		b.elements += v.LengthInt()
		for i := v.ElementIterator(); i.Next() && !b.tooMuch(); {
			key, e := i.Element()
			if t.IsMapType() || t.IsObjectType() {
				b.text += len(key.AsString())
			}
			b.add(e)
		}
	}
}

// productFunc is setproduct of no more than may be.
func productFunc() function.Function {
	return before(stdlib.SetProductFunc, func(args []cty.Value) error {
		n := 1.0
		for _, a := range args {
			a, _ = a.Unmark()
			if a.IsKnown() && !a.IsNull() && a.CanIterateElements() {
				n *= float64(a.LengthInt())
			}
		}
		if n*math.Max(1, float64(len(args))) > maxElements {
			return fmt.Errorf("the product would have %.0f elements; at most %d are possible", n, maxElements/max(1, len(args)))
		}
		return nil
	})
}

// widths finds the width and the precision of each verb.
var widths = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?(\d*)(?:\.(\d*))?`)
})

// formatFunc is format or formatlist with widths that people use.
func formatFunc(f function.Function) function.Function {
	return before(f, func(args []cty.Value) error {
		if len(args) == 0 {
			return nil
		}
		layout, _ := args[0].Unmark()
		if layout.Type() != cty.String || layout.IsNull() || !layout.IsKnown() {
			return nil
		}
		for _, m := range widths().FindAllStringSubmatch(layout.AsString(), -1) {
			for _, digits := range m[1:] {
				if n, err := strconv.Atoi(digits); digits != "" && (err != nil || n > maxWidth) {
					return function.NewArgErrorf(0, "a width of %s is too large; at most %d are possible", digits, maxWidth)
				}
			}
		}
		return nil
	})
}

// before is a function that is called only if its arguments pass. They are
// looked at when the function's type is asked for, which comes first.
func before(f function.Function, check func(args []cty.Value) error) function.Function {
	spec := &function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		VarParam:    f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := check(args); err != nil {
				return cty.NilType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	}
	return function.New(spec)
}
