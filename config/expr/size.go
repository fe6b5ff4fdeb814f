package expr

import (
	"math"

	"github.com/zclconf/go-cty/cty"
)

const (
	maxValue    = 16 << 20 // bytes of one value
	maxDigits   = 4096     // digits of a number; the time to write one out is quadratic
	elementSize = 128      // bytes that an element of a collection takes besides its strings
)

// measure returns the approximate size of a value in bytes, or what in it is too large.
func measure(v cty.Value, depth int) (size int, tooLarge string) {
	v, _ = v.Unmark()
	switch t := v.Type(); {
	case v.IsNull() || !v.IsKnown():
	case t == cty.String:
		size = len(v.AsString())
	case t == cty.Number && v.AsBigFloat().IsInf():
		tooLarge = "an infinite number, the result of a division by zero"
	case t == cty.Number && digits(v) > maxDigits:
		tooLarge = "a number of more than 4096 digits"
	case !v.CanIterateElements():
	case depth > maxDepth:
		tooLarge = "brackets nested more than 200 deep"
	default:
		size = elementSize * v.LengthInt()
		for it := v.ElementIterator(); tooLarge == "" && size <= maxValue && it.Next(); {
			key, e := it.Element()
			if t.IsMapType() || t.IsObjectType() {
				size += len(key.AsString())
			}
			var inner int
			inner, tooLarge = measure(e, depth+1)
			size += inner
		}
	}
	if tooLarge == "" && size > maxValue {
		tooLarge = "more than 16 MiB"
	}
	return size, tooLarge
}

func digits(v cty.Value) int {
	exponent := v.AsBigFloat().MantExp(nil)
	return int(math.Abs(float64(exponent)) * math.Log10(2))
}
