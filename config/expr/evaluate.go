package expr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Evaluator evaluates the attributes of a project, within its limits.
type Evaluator struct {
	*Problems
	Watch *Watch
	kept  int  // bytes of all values by now
	full  bool // those are too many, and that is told
}

// Decoder turns the attributes of blocks into Go values. Each of its readers
// sets what into points to if the attribute is there, not null and right, and
// else leaves it and says why: so defaults are what stood there before.
type Decoder struct {
	Eval    *Evaluator
	Ctx     *hcl.EvalContext
	Address string // of the session it works on, if any
	Spoiled *bool  // set when a value could not be had, unless nil
}

// spoil notes that a value could not be had, wherever its problem is told.
func (d Decoder) spoil() {
	if d.Spoiled != nil {
		*d.Spoiled = true
	}
}

// evaluated is an attribute's value.
type evaluated struct {
	Value cty.Value
	Ok    bool
}

// Fail reports an error about an attribute's value.
func (d Decoder) Fail(a *Attr, summary, detail string, args ...any) {
	d.spoil()
	d.Eval.Diags = append(d.Eval.Diags, &hcl.Diagnostic{
		Severity:    hcl.DiagError,
		Summary:     summary,
		Detail:      fmt.Sprintf(detail, args...),
		Subject:     a.Expr.Range().Ptr(),
		Expression:  a.Expr,
		EvalContext: d.Ctx,
		Extra:       Note{Address: d.Address},
	})
}

// FailAt reports an error about the session, at a place.
func (d Decoder) FailAt(at hcl.Range, summary, detail string, args ...any) {
	d.spoil()
	d.Eval.FailFor(d.Address, at, summary, detail, args...)
}

// Evaluate is an attribute's value before any conversion. Not ok: its problem is
// told. An unknown value is one whose problem is told elsewhere.
func (d Decoder) Evaluate(a *Attr) (cty.Value, bool) {
	if a.Bad || d.Eval.full {
		d.spoil()
		return cty.NilVal, false
	}
	if a.Value != nil {
		if !a.Value.Ok {
			d.spoil()
		}
		return a.Value.Value, a.Value.Ok
	}
	d.Eval.Watch.Enter(&a.Range)
	v, diags := a.Expr.Value(d.Ctx)
	for _, diag := range diags {
		conceal(diag)
		diag.Extra = Note{Address: d.Address, inner: diag.Extra}
		if diag.Expression == nil {
			diag.Expression, diag.EvalContext = a.Expr, d.Ctx
		}
	}
	d.Eval.Diags = append(d.Eval.Diags, diags...)
	e := evaluated{v, !diags.HasErrors()}
	if e.Ok {
		size, tooMuch := measure(v)
		d.Eval.kept += size
		switch {
		case tooMuch != "":
			d.Fail(a, "Value too large", "This comes to %s.", tooMuch)
			e = evaluated{cty.DynamicVal, false}
		case d.Eval.kept > maxKept:
			d.Eval.full = true
			d.Fail(a, "Project too large", "With this, the values of all attributes come to more than %d MiB.", maxKept>>20)
			e = evaluated{cty.DynamicVal, false}
		}
	}
	if !e.Ok {
		d.spoil()
	}
	if !a.PerInstance {
		a.Value = &e
	}
	return e.Value, e.Ok
}

// value is an attribute converted to a type. Not ok: there is none, it is null,
// or its problem is told.
func (d Decoder) value(b *Block, name string, want cty.Type) (cty.Value, *Attr, bool) {
	return d.ValueLike(b, name, want, describe(want))
}

// ValueLike is value for a type that is described in the words given.
func (d Decoder) ValueLike(b *Block, name string, want cty.Type, described string) (cty.Value, *Attr, bool) {
	a := b.Attr(name)
	if a == nil {
		return cty.NilVal, nil, false
	}
	v, ok := d.Evaluate(a)
	if !ok || !d.Plain(a, v) || v.IsNull() {
		return cty.NilVal, a, false
	}
	got, err := convert.Convert(uniform(v, want), want)
	if err != nil {
		d.Fail(a, "Wrong type", "%q needs %s%s.", name, described, unlike(v, err))
		return cty.NilVal, a, false
	}
	return got, a, true
}

// Plain refuses what may not be stored and passes over what is not known.
func (d Decoder) Plain(a *Attr, v cty.Value) bool {
	if v.ContainsMarked() {
		d.Fail(a, "Sensitive value would be stored", "%q ends up in plans, in the state file or in messages, so no sensitive value may flow into it. A secret reaches an agent by its name only: secrets = [\"NAME\"] in the session.", a.Name)
		return false
	}
	if v.IsWhollyKnown() {
		return true
	}
	d.spoil()
	if !d.Eval.Diags.HasErrors() {
		d.Fail(a, "Value not known", "The value of %q cannot be determined.", a.Name)
	}
	return false
}

// Conversion is a conversion's error with the place in the value that it is
// about.
func Conversion(err error) string {
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
		return fmt.Sprintf(", not %q", Cut(v.AsString()))
	case !strings.Contains(err.Error(), ": "): // the value itself, no element of it
		return ", not " + t.FriendlyName()
	}
	return ": " + Conversion(err)
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
	case t.IsListType():
		return "a list of texts"
	case t.IsMapType():
		return "a map of texts"
	}
	return t.FriendlyName()
}
