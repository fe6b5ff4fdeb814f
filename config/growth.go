package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// maxWidth is the largest width or precision of one verb of a format.
const maxWidth = 4096

// foretellers say what comes of a function's arguments besides what they hold,
// for those functions that can make much of little.
func foretellers() map[string]func(args []cty.Value) (bulk, error) {
	all := map[string]func([]cty.Value) (bulk, error){
		"format":     formatted,
		"formatlist": formattedList,
		"indent":     indented,
		"join":       joined,
		"jsondecode": decoded,
		"regexall":   matched,
		"replace":    replaced,
		"setproduct": multiplied,
		"split":      splitUp,
		"yamldecode": decodedYAML,
	}
	for _, name := range []string{
		"chunklist", "concat", "distinct", "flatten", "jsonencode", "merge", "setunion", "tolist", "tomap", "toset", "transpose", "yamlencode", "zipmap",
	} {
		all[name] = nothing
	}
	return all
}

// bound lets the meter count what functions make, and refuses what would be too
// large before it is made.
func (m *meter) bound(fs map[string]function.Function) {
	foretell := foretellers()
	for name, f := range fs {
		if name != "can" && name != "try" { // which are given expressions, whose functions are bounded
			fs[name] = m.bounded(f, foretell[name], strings.HasPrefix(name, "template"))
		}
	}
}

// bounded is a function whose arguments, and what it makes of them besides, are
// looked at when its type is asked for, which comes first; some may be null,
// unknown or of a wrong type then, and it is the function's to say so. Its errors
// are discreet; of a template only about the first argument, as those that it
// calls are discreet themselves.
func (m *meter) bounded(f function.Function, foretell func(args []cty.Value) (bulk, error), template bool) function.Function {
	told := func(err error, args []cty.Value) error {
		if template {
			args = args[:min(1, len(args))]
		}
		return discreet(err, args)
	}
	check := func(args []cty.Value) error {
		if m.exceeded() {
			return fmt.Errorf("evaluating takes too much already")
		}
		if foretell == nil {
			return nil
		}
		plain := make([]cty.Value, len(args))
		for i, a := range args {
			plain[i], _ = a.Unmark()
		}
		held := bulkOf(plain)
		if held.tooMuch() {
			return fmt.Errorf("the arguments hold %s", held)
		}
		grown, err := foretell(plain)
		if err != nil {
			return discreet(err, args)
		}
		if held = held.plus(grown); held.tooMuch() {
			return fmt.Errorf("the result would hold %s", held)
		}
		return nil
	}
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      forwarded(f.Params()),
		VarParam:    forwardedVar(f.VarParam()),
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := check(args); err != nil {
				return cty.NilType, err
			}
			t, err := f.ReturnTypeForValues(args)
			return t, told(err, args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err != nil {
				return v, told(err, args)
			}
			if infinite(v) {
				return cty.NilVal, fmt.Errorf("the result is infinite")
			}
			m.make(v)
			return v, nil
		},
	})
}

// times is a product that may be too large for an int, which then is as large as
// one that is too much.
func times(factors ...int) int {
	product := 1.0
	for _, f := range factors {
		product *= float64(f)
	}
	return int(math.Min(product, math.MaxInt32))
}

// textAt is a text among arguments; not there: "".
func textAt(args []cty.Value, i int) string {
	if i >= len(args) || args[i].Type() != cty.String || args[i].IsNull() || !args[i].IsKnown() {
		return ""
	}
	return args[i].AsString()
}

// lengthOf is how many elements a value has; 0 if it cannot be said.
func lengthOf(v cty.Value) int {
	if !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
		return 0
	}
	return v.LengthInt()
}

func nothing([]cty.Value) (bulk, error) { return bulk{}, nil }

func multiplied(args []cty.Value) (bulk, error) {
	n := max(1, len(args))
	for _, a := range args {
		n = times(n, lengthOf(a))
	}
	return bulk{elements: n}, nil
}

// joined is what stands between the elements.
func joined(args []cty.Value) (bulk, error) {
	n := 0
	for _, list := range args[min(1, len(args)):] {
		n += lengthOf(list)
	}
	return bulk{text: times(len(textAt(args, 0)), n)}, nil
}

// splitUp is a part for each separator, of each letter when that is empty.
func splitUp(args []cty.Value) (bulk, error) {
	return bulk{elements: strings.Count(textAt(args, 1), textAt(args, 0))}, nil
}

// decoded is an element for each comma; that some stand in texts is allowed for.
func decoded(args []cty.Value) (bulk, error) {
	text := textAt(args, 0)
	return bulk{elements: strings.Count(text, ",") / 4, deep: deepJSON([]byte(text), "") != nil}, nil
}

// indented is the spaces at the start of each line.
func indented(args []cty.Value) (bulk, error) {
	if len(args) == 0 || args[0].Type() != cty.Number || args[0].IsNull() || !args[0].IsKnown() {
		return bulk{}, nil
	}
	spaces, _ := args[0].AsBigFloat().Float64()
	return bulk{text: times(int(math.Min(math.Max(spaces, 0), math.MaxInt32)), strings.Count(textAt(args, 1), "\n")+1)}, nil
}

func matched(args []cty.Value) (bulk, error) {
	re, err := regexp.Compile(textAt(args, 0))
	if err != nil {
		return bulk{}, nil // which the function says
	}
	return bulk{elements: len(re.FindAllStringIndex(textAt(args, 1), maxElements+1))}, nil
}

// replaced is the new text at every place; where it quotes what it replaces, no
// more of that than there is.
func replaced(args []cty.Value) (bulk, error) {
	text, old, with := textAt(args, 0), textAt(args, 1), textAt(args, 2)
	if len(old) < 2 || old[0] != '/' || old[len(old)-1] != '/' {
		return bulk{text: times(strings.Count(text, old), len(with))}, nil
	}
	re, err := regexp.Compile(old[1 : len(old)-1])
	if err != nil {
		return bulk{}, nil // which the function says
	}
	places := len(re.FindAllStringIndex(text, maxElements+1))
	if places > maxElements {
		return bulk{}, function.NewArgErrorf(1, "it is found at more than %d places", maxElements)
	}
	return bulk{text: times(places, len(with)) + times(strings.Count(with, "$"), len(text))}, nil
}

// widths finds the width and the precision of each verb.
var widths = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%[-+# 0]*(?:\[\d+\])?(\d*)(?:\.(\d*))?`)
})

// formatted is the blanks of a format, whose widths are those that people use.
// The same argument may be asked for again and again.
func formatted(args []cty.Value) (bulk, error) {
	var grown bulk
	if len(args) == 0 {
		return grown, nil
	}
	given := bulkOf(args[1:]).text
	for _, m := range widths().FindAllStringSubmatch(textAt(args, 0), -1) {
		for _, digits := range m[1:] {
			n, err := strconv.Atoi(digits)
			if digits != "" && (err != nil || n > maxWidth) {
				return grown, function.NewArgErrorf(0, "a width of %s is too large; at most %d are possible", digits, maxWidth)
			}
			grown.text += n
		}
		if strings.Contains(m[0], "[") {
			grown.text += given
		}
	}
	return grown, nil
}

// formattedList is that as often as the longest list has elements.
func formattedList(args []cty.Value) (bulk, error) {
	one, err := formatted(args)
	if err != nil || len(args) == 0 {
		return one, err
	}
	one.text += len(textAt(args, 0))
	most := 1
	for _, a := range args[1:] {
		most = max(most, lengthOf(a))
		one.text += len(textAt([]cty.Value{a}, 0))
	}
	return bulk{elements: most, text: times(most, one.text)}, nil
}
