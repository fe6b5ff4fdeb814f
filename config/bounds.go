package config

import (
	"fmt"
	"math"

	"github.com/zclconf/go-cty/cty"
)

// What one value may hold. A few lines can ask for more than any machine has: a
// local that doubles another, twenty times over. As many sessions as there can
// be (maxSessions), with ten attributes each, stay below it.
const (
	maxElements = 1 << 17  // of lists, sets, maps and objects, all that are in it
	maxText     = 16 << 20 // bytes of all texts in it
	maxDigits   = 4096     // of a number in it; writing it out takes time with their square
)

// bulk is how much a value holds.
type bulk struct {
	elements, text int
	long           bool // a number has too many digits
	deep           bool // collections in it nest too deeply
	infinite       bool // a number in it is infinite
}

// exceeds reports whether it is more than so many values may hold.
func (b bulk) exceeds(values int) bool {
	return b.elements > values*maxElements || b.text > values*maxText || b.long || b.deep || b.infinite
}

func (b bulk) tooMuch() bool { return b.exceeds(1) }

// over says what is more than so many values may hold.
func (b bulk) over(values int) string {
	switch {
	case b.infinite:
		return "an infinite number, which comes of a division by zero"
	case b.long:
		return fmt.Sprintf("a number of more than %d digits", maxDigits)
	case b.deep:
		return fmt.Sprintf("brackets nested more than %d deep", maxDepth)
	case b.elements > values*maxElements:
		return fmt.Sprintf("more than %d elements", values*maxElements)
	}
	return fmt.Sprintf("more than %d MiB of text", values*maxText>>20)
}

// String says what is too much for one value.
func (b bulk) String() string { return b.over(1) }

func (b bulk) plus(c bulk) bulk {
	return bulk{b.elements + c.elements, b.text + c.text, b.long || c.long, b.deep || c.deep, b.infinite || c.infinite}
}

// add adds what a value holds, and stops once it is too much for one.
func (b *bulk) add(v cty.Value) { b.addAt(v, 0) }

func (b *bulk) addAt(v cty.Value, depth int) {
	v, _ = v.Unmark()
	switch t := v.Type(); {
	case v.IsNull() || !v.IsKnown():
	case t == cty.String:
		b.text += len(v.AsString())
	case t == cty.Number:
		b.long = b.long || digits(v) > maxDigits
		b.infinite = b.infinite || infinite(v)
	case (t.IsListType() || t.IsSetType()) && t.ElementType() == cty.Bool:
		b.elements += v.LengthInt()
	case depth > maxDepth:
		b.deep = true
	case v.CanIterateElements():
		b.elements += v.LengthInt()
		for i := v.ElementIterator(); i.Next() && !b.tooMuch(); {
			key, e := i.Element()
			if t.IsMapType() || t.IsObjectType() {
				b.text += len(key.AsString())
			}
			b.addAt(e, depth+1)
		}
	}
}

// digits is about how many a number has when it is written out.
func digits(v cty.Value) int {
	f := v.AsBigFloat()
	if f.IsInf() {
		return 0
	}
	twos := f.MantExp(nil)
	return int(math.Abs(float64(twos)) * math.Log10(2))
}

// infinite reports whether a value is an infinite number.
func infinite(v cty.Value) bool {
	v, _ = v.Unmark()
	return v.Type() == cty.Number && v.IsKnown() && !v.IsNull() && v.AsBigFloat().IsInf()
}

// bulkOf is how much values hold together, if that is not too much for one.
func bulkOf(values []cty.Value) bulk {
	var held bulk
	for _, v := range values {
		if held.add(v); held.tooMuch() {
			break
		}
	}
	return held
}
