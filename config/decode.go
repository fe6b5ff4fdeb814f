package config

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// evaluator evaluates the attributes of a project, within its limits.
type evaluator struct {
	*problems
	watch *watch
	kept  int  // bytes of all values by now
	full  bool // those are too many, and that is told
}

// decoder turns the attributes of blocks into Go values. Each of its readers
// sets what into points to if the attribute is there, not null and right, and
// else leaves it and says why: so defaults are what stood there before.
type decoder struct {
	e       *evaluator
	ctx     *hcl.EvalContext
	address session.Address // of the session it works on, if any
	spoiled *bool           // set when a value could not be had, unless nil
}

// spoil notes that a value could not be had, wherever its problem is told.
func (d decoder) spoil() {
	if d.spoiled != nil {
		*d.spoiled = true
	}
}

// evaluated is an attribute's value.
type evaluated struct {
	value cty.Value
	ok    bool
}

// fail reports an error about an attribute's value.
func (d decoder) fail(a *attr, summary, detail string, args ...any) {
	d.spoil()
	d.e.diags = append(d.e.diags, &hcl.Diagnostic{
		Severity:    hcl.DiagError,
		Summary:     summary,
		Detail:      fmt.Sprintf(detail, args...),
		Subject:     a.expr.Range().Ptr(),
		Expression:  a.expr,
		EvalContext: d.ctx,
		Extra:       note{address: d.address},
	})
}

// failAt reports an error about the session, at a place.
func (d decoder) failAt(at hcl.Range, summary, detail string, args ...any) {
	d.spoil()
	d.e.failFor(d.address, at, summary, detail, args...)
}

// evaluate is an attribute's value before any conversion. Not ok: its problem is
// told. An unknown value is one whose problem is told elsewhere.
func (d decoder) evaluate(a *attr) (cty.Value, bool) {
	if a.bad || d.e.full {
		d.spoil()
		return cty.NilVal, false
	}
	if a.value != nil {
		if !a.value.ok {
			d.spoil()
		}
		return a.value.value, a.value.ok
	}
	d.e.watch.enter(&a.rng)
	v, diags := a.expr.Value(d.ctx)
	for _, diag := range diags {
		conceal(diag)
		diag.Extra = note{address: d.address, inner: diag.Extra}
		if diag.Expression == nil {
			diag.Expression, diag.EvalContext = a.expr, d.ctx
		}
	}
	d.e.diags = append(d.e.diags, diags...)
	e := evaluated{v, !diags.HasErrors()}
	if e.ok {
		size, tooMuch := measure(v)
		d.e.kept += size
		switch {
		case tooMuch != "":
			d.fail(a, "Value too large", "This comes to %s.", tooMuch)
			e = evaluated{cty.DynamicVal, false}
		case d.e.kept > maxKept:
			d.e.full = true
			d.fail(a, "Project too large", "With this, the values of all attributes come to more than %d MiB.", maxKept>>20)
			e = evaluated{cty.DynamicVal, false}
		}
	}
	if !e.ok {
		d.spoil()
	}
	if !a.perInstance {
		a.value = &e
	}
	return e.value, e.ok
}

// value is an attribute converted to a type. Not ok: there is none, it is null,
// or its problem is told.
func (d decoder) value(b *block, name string, want cty.Type) (cty.Value, *attr, bool) {
	a := b.attr(name)
	if a == nil {
		return cty.NilVal, nil, false
	}
	v, ok := d.evaluate(a)
	if !ok || !d.plain(a, v) || v.IsNull() {
		return cty.NilVal, a, false
	}
	got, err := convert.Convert(uniform(v, want), want)
	if err != nil {
		d.fail(a, "Wrong type", "%q needs %s%s.", name, describe(want), unlike(v, err))
		return cty.NilVal, a, false
	}
	return got, a, true
}

// plain refuses what may not be stored and passes over what is not known.
func (d decoder) plain(a *attr, v cty.Value) bool {
	if v.ContainsMarked() {
		d.fail(a, "Sensitive value would be stored", "%q ends up in plans, in the state file or in messages, so no sensitive value may flow into it. A secret reaches an agent by its name only: secrets = [\"NAME\"] in the session.", a.name)
		return false
	}
	if v.IsWhollyKnown() {
		return true
	}
	d.spoil()
	if !d.e.diags.HasErrors() {
		d.fail(a, "Value not known", "The value of %q cannot be determined.", a.name)
	}
	return false
}

// conversion is a conversion's error with the place in the value that it is
// about.
func conversion(err error) string {
	var p cty.PathError
	if errors.As(err, &p) && len(p.Path) > 0 {
		var at strings.Builder
		for _, step := range p.Path {
			switch s := step.(type) {
			case cty.GetAttrStep:
				at.WriteString("." + s.Name)
			case cty.IndexStep:
				if s.Key.IsKnown() && s.Key.Type() == cty.String {
					fmt.Fprintf(&at, "[%q]", s.Key.AsString())
				} else if s.Key.IsKnown() && s.Key.Type() == cty.Number {
					at.WriteString("[" + s.Key.AsBigFloat().Text('f', -1) + "]")
				}
			}
		}
		return strings.TrimPrefix(at.String(), ".") + ": " + err.Error()
	}
	return err.Error()
}

// unlike says why a value could not be converted.
func unlike(v cty.Value, err error) string {
	switch t := v.Type(); {
	case t == cty.String:
		return fmt.Sprintf(", not %q", cut(v.AsString()))
	case !strings.Contains(err.Error(), ": "): // the value itself, no element of it
		return ", not " + t.FriendlyName()
	}
	return ": " + conversion(err)
}

// describe is a type in a person's words.
func describe(t cty.Type) string {
	switch {
	case t == cty.String:
		return "a text"
	case t == cty.Number:
		return "a number"
	case t == cty.Bool:
		return "true or false"
	case t.Equals(cty.List(mountType)):
		return "a list of mounts, like [{ source = \"~/.codex\", target = \"/home/agent/.codex\" }]"
	case t.IsListType():
		return "a list of texts"
	case t.IsMapType():
		return "a map of texts"
	}
	return t.FriendlyName()
}

// clean refuses a text that no program could be given.
func (d decoder) clean(a *attr, text string) bool {
	if strings.ContainsRune(text, 0) {
		d.fail(a, "Invalid text", "%q holds a NUL character, which no command line or environment can carry.", a.name)
		return false
	}
	return true
}

func (d decoder) text(b *block, name string, into *string) bool {
	v, a, ok := d.value(b, name, cty.String)
	if !ok || !d.clean(a, v.AsString()) {
		return false
	}
	*into = v.AsString()
	return true
}

// word is a text that may not be empty.
func (d decoder) word(b *block, name string, into *string) bool {
	var s string
	if !d.text(b, name, &s) {
		return false
	}
	if strings.TrimSpace(s) == "" {
		d.fail(b.attr(name), "Empty text", "%q may not be empty; leave it out, or set it to null, for its default.", name)
		return false
	}
	*into = s
	return true
}

func (d decoder) flag(b *block, name string, into *bool) {
	if v, _, ok := d.value(b, name, cty.Bool); ok {
		*into = v.True()
	}
}

// whole is a whole number of at least low.
func (d decoder) whole(b *block, name string, low int, into *int) {
	v, a, ok := d.value(b, name, cty.Number)
	if !ok {
		return
	}
	n, exact := v.AsBigFloat().Int64()
	switch {
	case exact != big.Exact || n != int64(int32(n)):
		d.fail(a, "Invalid number", "%q needs a whole number, and %s is none that fits.", name, cut(v.AsBigFloat().Text('g', 20)))
	case n < int64(low):
		d.fail(a, "Invalid number", "%q must be at least %d, not %d.", name, low, n)
	default:
		*into = int(n)
	}
}

// decimal is a number from low to high.
func (d decoder) decimal(b *block, name string, low, high float64, into *float64) {
	v, a, ok := d.value(b, name, cty.Number)
	if !ok {
		return
	}
	f, _ := v.AsBigFloat().Float64()
	if f < low || f > high || math.IsNaN(f) {
		limit := fmt.Sprintf("at least %g", low)
		if !math.IsInf(high, 1) {
			limit = fmt.Sprintf("from %g to %g", low, high)
		}
		d.fail(a, "Invalid number", "%q must be %s, not %g.", name, limit, f)
		return
	}
	*into = f
}

// words is a list of texts. A set is taken in its own order.
func (d decoder) words(b *block, name string, into *[]string) bool {
	v, a, ok := d.value(b, name, cty.List(cty.String))
	if !ok {
		return false
	}
	list := make([]string, 0, v.LengthInt())
	for _, e := range v.AsValueSlice() {
		if e.IsNull() {
			d.fail(a, "Null in a list", "%q holds a null; each of its elements must be a text.", name)
			return false
		}
		if !d.clean(a, e.AsString()) {
			return false
		}
		list = append(list, e.AsString())
	}
	*into = list
	return true
}

// command is a list of texts that names a program.
func (d decoder) command(b *block, name string, into *[]string) bool {
	var list []string
	if !d.words(b, name, &list) {
		return false
	}
	if len(list) == 0 || strings.TrimSpace(list[0]) == "" {
		d.fail(b.attr(name), "Empty command", `%q must name a program, and then its arguments: ["make", "deps"].`, name)
		return false
	}
	*into = list
	return true
}

// table is a map of texts; a null in it leaves that key out.
func (d decoder) table(b *block, name string, into *map[string]string) bool {
	v, a, ok := d.value(b, name, cty.Map(cty.String))
	if !ok {
		return false
	}
	table := make(map[string]string, v.LengthInt())
	for k, e := range v.AsValueMap() {
		if e.IsNull() {
			continue
		}
		if !d.clean(a, k) || !d.clean(a, e.AsString()) {
			return false
		}
		table[k] = e.AsString()
	}
	*into = table
	return true
}

// oneOf is one of the few words that the language has for it.
func (d decoder) oneOf(b *block, name string, into *string) {
	var s string
	if !d.text(b, name, &s) {
		return
	}
	choices := b.attr(name).choices
	if !slices.Contains(choices, s) {
		d.fail(b.attr(name), "Invalid value", "%q must be %s, not %q.%s", name, quoted(choices, "or"), cut(s), didYouMean(s, choices))
		return
	}
	*into = s
}

// duration is a length of time of at least low.
func (d decoder) duration(b *block, name string, low session.Duration, into *session.Duration) {
	var s string
	if !d.text(b, name, &s) {
		return
	}
	v, err := parseDuration(s)
	switch {
	case err != nil:
		d.fail(b.attr(name), "Invalid duration", "%q: %s.", name, err)
	case v < low && low == 1:
		d.fail(b.attr(name), "Invalid duration", "%q must be longer than zero.", name)
	case v < low:
		d.fail(b.attr(name), "Invalid duration", "%q must be at least %s, not %q.", name, low, s)
	default:
		*into = v
	}
}

// regex is a regular expression, kept as text.
func (d decoder) regex(b *block, name string, into *string) {
	var s string
	if d.text(b, name, &s) && d.compiles(b.attr(name), s) {
		*into = s
	}
}

// regexes is a list of regular expressions, added to what stands there.
func (d decoder) regexes(b *block, name string, into *[]string) {
	var list []string
	if !d.words(b, name, &list) {
		return
	}
	for _, s := range list {
		if !d.compiles(b.attr(name), s) {
			return
		}
	}
	*into = append(slices.Clone(*into), list...)
}

func (d decoder) compiles(a *attr, s string) bool {
	if _, err := regexp.Compile(s); err != nil {
		d.fail(a, "Invalid regular expression", "%q is given %q, which is no regular expression: %s.", a.name, cut(s), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return false
	}
	return true
}

// missing reports whether an attribute is not there, or null, and nothing that
// was not understood could be it.
func (d decoder) missing(b *block, name string) bool {
	a := b.attr(name)
	if a == nil {
		return !b.broken
	}
	v, ok := d.evaluate(a)
	return ok && v.IsNull()
}

// exactlyOne is which of some attributes is given. If none or more than one is,
// that is told and the name is empty.
func (d decoder) exactlyOne(b *block, names ...string) string {
	var given []string
	for _, name := range names {
		if a := b.attr(name); a != nil && !d.missing(b, name) {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 1:
		return given[0]
	case len(given) > 1:
		d.failAt(b.at(given[1]), "Too many settings", "%s needs exactly one of %s, and %s are given.", b.title(), quoted(names, "and"), quoted(given, "and"))
	case !b.broken:
		d.failAt(b.def, "Missing setting", "%s needs exactly one of %s.", b.title(), quoted(names, "and"))
	}
	return ""
}

// require tells that an attribute is missing; what it is for follows.
func (d decoder) require(b *block, name, what string) {
	if d.missing(b, name) {
		d.failAt(b.at(name), "Missing "+name, "This block needs %q: %s.", name, what)
	}
}

var sizeForm = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*([KMGT]i?)?B?$`)

// size is a number of bytes of at least low, written with a unit.
func (d decoder) size(b *block, name string, low int64, into *int64) {
	var s string
	if !d.text(b, name, &s) {
		return
	}
	n, err := parseSize(s)
	switch {
	case err != nil:
		d.fail(b.attr(name), "Invalid size", "%q: %s.", name, err)
	case n < low:
		d.fail(b.attr(name), "Invalid size", "%q must be at least %d MiB, not %q.", name, low>>20, s)
	default:
		*into = n
	}
}

// parseSize reads a number of bytes: units of 1024 (KiB, MiB, GiB, TiB) and of
// 1000 (KB, MB, GB, TB).
func parseSize(s string) (int64, error) {
	m := sizeForm.FindStringSubmatch(strings.TrimSpace(s))
	switch {
	case m == nil:
		return 0, fmt.Errorf(`%q is no size; write it like "512MiB" or "4GiB"`, cut(s))
	case !strings.HasSuffix(strings.TrimSpace(s), "B"):
		return 0, fmt.Errorf(`%q has no unit; write it like "512MiB" or "4GiB"`, cut(s))
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is too large", cut(s))
	}
	if unit := m[2]; unit != "" {
		base := 1000.0
		if strings.HasSuffix(unit, "i") {
			base = 1024
		}
		n *= math.Pow(base, float64(strings.IndexByte("KMGT", unit[0])+1))
	}
	if n > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is too large", cut(s))
	}
	return int64(n), nil
}
