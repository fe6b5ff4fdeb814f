package expr

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// Clean refuses a text that cannot be passed to a program.
func (d Decoder) Clean(a *Attr, text string) bool {
	if strings.ContainsRune(text, 0) {
		d.Fail(a, "Invalid string", "%q contains a NUL character, which command lines and environments cannot have.", a.Name)
		return false
	}
	return true
}

// Text decodes a text. ok is false if it is missing or invalid.
func (d Decoder) Text(b *Block, name string, into *string) bool {
	v, a, ok := d.Value(b, name, cty.String, "a string")
	if !ok || !d.Clean(a, v.AsString()) {
		return false
	}
	*into = v.AsString()
	return true
}

// Word decodes a text that must not be empty.
func (d Decoder) Word(b *Block, name string, into *string) bool {
	var s string
	if !d.Text(b, name, &s) {
		return false
	}
	if strings.TrimSpace(s) == "" {
		d.Fail(b.Attr(name), "Empty string", "%q must not be empty. For its default, omit it or set it to null.", name)
		return false
	}
	*into = s
	return true
}

// Flag decodes a bool.
func (d Decoder) Flag(b *Block, name string, into *bool) {
	if v, _, ok := d.Value(b, name, cty.Bool, "true or false"); ok {
		*into = v.True()
	}
}

// Whole decodes a whole number of at least low.
func (d Decoder) Whole(b *Block, name string, low int, into *int) {
	v, a, ok := d.Value(b, name, cty.Number, "a number")
	if !ok {
		return
	}
	n, exact := v.AsBigFloat().Int64()
	switch {
	case exact != big.Exact || n != int64(int32(n)):
		d.Fail(a, "Invalid number", "%q must be a whole number of at most 32 bits, not %s.", name, Cut(v.AsBigFloat().Text('g', 20)))
	case n < int64(low):
		d.Fail(a, "Invalid number", "%q must be at least %d, not %d.", name, low, n)
	default:
		*into = int(n)
	}
}

// Decimal decodes a number from low to high.
func (d Decoder) Decimal(b *Block, name string, low, high float64, into *float64) {
	v, a, ok := d.Value(b, name, cty.Number, "a number")
	if !ok {
		return
	}
	f, _ := v.AsBigFloat().Float64()
	if f < low || f > high || math.IsNaN(f) {
		limit := fmt.Sprintf("at least %g", low)
		if !math.IsInf(high, 1) {
			limit = fmt.Sprintf("from %g to %g", low, high)
		}
		d.Fail(a, "Invalid number", "%q must be %s, not %g.", name, limit, f)
		return
	}
	*into = f
}

// Words decodes a list of texts.
func (d Decoder) Words(b *Block, name string, into *[]string) bool {
	v, a, ok := d.Value(b, name, cty.List(cty.String), "a list of strings")
	if !ok {
		return false
	}
	list := make([]string, 0, v.LengthInt())
	for _, e := range v.AsValueSlice() {
		if e.IsNull() {
			d.Fail(a, "Null in a list", "%q contains null; each element must be a string.", name)
			return false
		}
		if !d.Clean(a, e.AsString()) {
			return false
		}
		list = append(list, e.AsString())
	}
	*into = list
	return true
}

// Command decodes a program and its arguments.
func (d Decoder) Command(b *Block, name string, into *[]string) bool {
	var list []string
	if !d.Words(b, name, &list) {
		return false
	}
	if len(list) == 0 || strings.TrimSpace(list[0]) == "" {
		d.Fail(b.Attr(name), "Empty command", `%q must have a program and its arguments: ["make", "deps"].`, name)
		return false
	}
	*into = list
	return true
}

// Table decodes a map of texts. A key whose value is null is left out.
func (d Decoder) Table(b *Block, name string, into *map[string]string) bool {
	v, a, ok := d.Value(b, name, cty.Map(cty.String), "a map of strings")
	if !ok {
		return false
	}
	table := make(map[string]string, v.LengthInt())
	for k, e := range v.AsValueMap() {
		if e.IsNull() {
			continue
		}
		if !d.Clean(a, k) || !d.Clean(a, e.AsString()) {
			return false
		}
		table[k] = e.AsString()
	}
	*into = table
	return true
}

// OneOf decodes one of the attribute's choices.
func (d Decoder) OneOf(b *Block, name string, into *string) {
	var s string
	if !d.Text(b, name, &s) {
		return
	}
	choices := b.Attr(name).Choices
	if !slices.Contains(choices, s) {
		d.Fail(b.Attr(name), "Invalid value", "%q must be %s, not %q.%s", name, Quoted(choices, "or"), Cut(s), DidYouMean(s, choices))
		return
	}
	*into = s
}

// Duration decodes a duration of at least low.
func (d Decoder) Duration(b *Block, name string, low time.Duration, into *time.Duration) {
	var s string
	if !d.Text(b, name, &s) {
		return
	}
	v, err := ParseDuration(s)
	switch {
	case err != nil:
		d.Fail(b.Attr(name), "Invalid duration", "%q: %s.", name, err)
	case v < low && low == 1:
		d.Fail(b.Attr(name), "Invalid duration", "%q must be longer than zero.", name)
	case v < low:
		d.Fail(b.Attr(name), "Invalid duration", "%q must be at least %s, not %q.", name, low, s)
	default:
		*into = v
	}
}

// Regex decodes a regular expression, as text.
func (d Decoder) Regex(b *Block, name string, into *string) {
	var s string
	if d.Text(b, name, &s) && d.compiles(b.Attr(name), s) {
		*into = s
	}
}

// Regexes decodes a list of regular expressions and appends it.
func (d Decoder) Regexes(b *Block, name string, into *[]string) {
	var list []string
	if !d.Words(b, name, &list) {
		return
	}
	for _, s := range list {
		if !d.compiles(b.Attr(name), s) {
			return
		}
	}
	*into = append(slices.Clone(*into), list...)
}

func (d Decoder) compiles(a *Attr, s string) bool {
	if _, err := regexp.Compile(s); err != nil {
		d.Fail(a, "Invalid regular expression", "%q is %q, which is not a valid regular expression: %s.", a.Name, Cut(s), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return false
	}
	return true
}

// Missing reports whether an attribute is absent or null. A broken block misses none.
func (d Decoder) Missing(b *Block, name string) bool {
	a := b.Attr(name)
	if a == nil {
		return !b.Broken
	}
	v, ok := d.Evaluate(a)
	return ok && v.IsNull()
}

// ExactlyOne returns which of some attributes is set, or "" after reporting an error.
func (d Decoder) ExactlyOne(b *Block, names ...string) string {
	var given []string
	for _, name := range names {
		if a := b.Attr(name); a != nil && !d.Missing(b, name) {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 1:
		return given[0]
	case len(given) > 1:
		d.FailAt(b.At(given[1]), "Too many settings", "%s needs exactly one of %s, but has %s.", b.Title(), Quoted(names, "and"), Quoted(given, "and"))
	case !b.Broken:
		d.FailAt(b.Def, "Missing setting", "%s needs exactly one of %s.", b.Title(), Quoted(names, "and"))
	}
	return ""
}

// Require reports a missing attribute. what shows how to write it.
func (d Decoder) Require(b *Block, name, what string) {
	if d.Missing(b, name) {
		d.FailAt(b.At(name), "Missing "+name, "This block needs %q: %s.", name, what)
	}
}

var sizeForm = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*([KMGT]i?)?B?$`)

// Size decodes a number of bytes of at least low, written with a unit.
func (d Decoder) Size(b *Block, name string, low int64, into *int64) {
	var s string
	if !d.Text(b, name, &s) {
		return
	}
	n, err := ParseSize(s)
	switch {
	case err != nil:
		d.Fail(b.Attr(name), "Invalid size", "%q: %s.", name, err)
	case n < low:
		d.Fail(b.Attr(name), "Invalid size", "%q must be at least %d MiB, not %q.", name, low>>20, s)
	default:
		*into = n
	}
}

// ParseSize reads a number of bytes with a unit, such as 512MiB.
func ParseSize(s string) (int64, error) {
	m := sizeForm.FindStringSubmatch(strings.TrimSpace(s))
	switch {
	case m == nil:
		return 0, fmt.Errorf(`%q is not a size, use "512MiB" or "4GiB"`, Cut(s))
	case !strings.HasSuffix(strings.TrimSpace(s), "B"):
		return 0, fmt.Errorf(`%q has no unit, use "512MiB" or "4GiB"`, Cut(s))
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is too large", Cut(s))
	}
	if unit := m[2]; unit != "" {
		base := 1000.0
		if strings.HasSuffix(unit, "i") {
			base = 1024
		}
		n *= math.Pow(base, float64(strings.IndexByte("KMGT", unit[0])+1))
	}
	if n > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is too large", Cut(s))
	}
	return int64(n), nil
}
