package expr

import (
	"math"

	"github.com/zclconf/go-cty/cty"
)

// What values may take. A few lines can ask for more than any machine has: a local
// that doubles another, twenty times over.
const (
	maxValue    = 16 << 20  // bytes of one value
	maxKept     = 256 << 20 // bytes of all values of a project
	maxDigits   = 4096      // of a number; the time to write one out grows with their square
	elementSize = 128       // bytes that an element of a collection takes besides its texts
)

// measure returns how many bytes a value takes, about. It stops at the first thing that
// is too much for one value and says what that is.
func measure(v cty.Value) (size int, tooMuch string) { return measureAt(v, 0) }

func measureAt(v cty.Value, depth int) (size int, tooMuch string) {
	v, _ = v.Unmark()
	switch t := v.Type(); {
	case v.IsNull() || !v.IsKnown():
	case t == cty.String:
		size = len(v.AsString())
	case t == cty.Number && v.AsBigFloat().IsInf():
		tooMuch = "an infinite number, which comes of a division by zero"
	case t == cty.Number && digits(v) > maxDigits:
		tooMuch = "a number of more than 4096 digits"
	case !v.CanIterateElements():
	case depth > maxDepth:
		tooMuch = "brackets nested more than 200 deep"
	default:
		size = elementSize * v.LengthInt()
		keyed := t.IsMapType() || t.IsObjectType()
		for it := v.ElementIterator(); tooMuch == "" && size <= maxValue && it.Next(); {
			key, e := it.Element()
			if keyed {
				size += len(key.AsString())
			}
			var held int
			held, tooMuch = measureAt(e, depth+1)
			size += held
		}
	}
	if tooMuch == "" && size > maxValue {
		tooMuch = "more than 16 MiB"
	}
	return size, tooMuch
}

// digits returns about how many digits a number has when it is written out.
func digits(v cty.Value) int {
	twos := v.AsBigFloat().MantExp(nil)
	return int(math.Abs(float64(twos)) * math.Log10(2))
}
