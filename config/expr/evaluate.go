package expr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Evaluator evaluates the attributes of a project within the limits of its watch.
type Evaluator struct {
	*Problems
	Watch *Watch
}

// Decoder decodes attributes of blocks into Go values. It leaves the value at into unchanged if the
// attribute is not set, or is invalid, which it reports.
type Decoder struct {
	Eval    *Evaluator
	Ctx     *hcl.EvalContext
	Address string // of the session, if any
	Spoiled *bool  // set when a value is missing, unless nil
}

// spoil records that a value is missing, wherever the problem was reported.
func (d Decoder) spoil() {
	if d.Spoiled != nil {
		*d.Spoiled = true
	}
}

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

// FailAt reports an error about the session at a place.
func (d Decoder) FailAt(at hcl.Range, summary, detail string, args ...any) {
	d.spoil()
	d.Eval.FailFor(d.Address, at, summary, detail, args...)
}

// Evaluate returns an attribute's value before any conversion. Not ok: its problem was
// reported. That of an unknown value was reported elsewhere.
func (d Decoder) Evaluate(a *Attr) (cty.Value, bool) {
	if a.Bad {
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
		if _, tooLarge := measure(v, 0); tooLarge != "" {
			d.Fail(a, "Value too large", "The value is %s.", tooLarge)
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

// Value returns an attribute's value converted to a type, which messages call described. Not
// ok: it is absent, null or invalid, which was reported.
func (d Decoder) Value(b *Block, name string, want cty.Type, described string) (cty.Value, *Attr, bool) {
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
		d.Fail(a, "Wrong type", "%q must be %s%s.", name, described, unlike(v, err))
		return cty.NilVal, a, false
	}
	return got, a, true
}

// Plain reports whether a value can be stored: it is not sensitive, and known.
func (d Decoder) Plain(a *Attr, v cty.Value) bool {
	if v.ContainsMarked() {
		hint := `it is stored in plans and the state. Pass a secret to an agent by its name: secrets = ["NAME"] in the session.`
		if a.Name == "webhook" {
			hint = `name the secret that has the address instead: webhook_secret = "NAME".`
		}
		d.Fail(a, "Sensitive value would be stored", "Sensitive values are not allowed in %q: %s", a.Name, hint)
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

// Conversion returns a conversion's error with the path to the part of the value.
func Conversion(err error) string {
	if p, is := errors.AsType[cty.PathError](err); is && len(p.Path) > 0 {
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

// unlike returns why a value could not be converted.
func unlike(v cty.Value, err error) string {
	switch t := v.Type(); {
	case t == cty.String:
		return fmt.Sprintf(", not %q", Cut(v.AsString()))
	case !strings.Contains(err.Error(), ": "): // the value itself, no element of it
		return ", not " + t.FriendlyName()
	}
	return ": " + Conversion(err)
}
