package expr

import (
	"encoding/base64"
	"fmt"
	"path"
	"unicode/utf8"

	"github.com/hashicorp/go-cty-funcs/encoding"
	"github.com/hashicorp/go-cty-funcs/uuid"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// terraformFunctions are those of Terraform's functions that cty's standard
// library lacks and that look at nothing but their arguments.
func terraformFunctions() map[string]function.Function {
	return map[string]function.Function{
		"alltrue":      truthFunc(true),
		"anytrue":      truthFunc(false),
		"sum":          sumFunc(),
		"one":          oneFunc(),
		"basename":     textFunc("path", func(s string) (string, error) { return path.Base(s), nil }),
		"dirname":      textFunc("path", func(s string) (string, error) { return path.Dir(s), nil }),
		"base64encode": encoding.Base64EncodeFunc,
		"base64decode": textFunc("str", decodeBase64),
		"urlencode":    encoding.URLEncodeFunc,
		"uuidv5":       uuid.V5Func,
		"timecmp":      timecmpFunc(),
		"index":        indexFunc(),
		"lookup":       lookupFunc(),
		"matchkeys":    matchkeysFunc(),
		"transpose":    transposeFunc(),
		"issensitive":  issensitiveFunc(),
		"nonsensitive": nonsensitiveFunc(),
	}
}

// textFunc makes a text of a text.
func textFunc(name string, of func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: name, Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := of(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.StringVal(s), nil
		},
	})
}

func decodeBase64(s string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	switch {
	case err != nil:
		return "", fmt.Errorf("it is no base64")
	case !utf8.Valid(b):
		return "", fmt.Errorf("what it holds is not a text in UTF-8")
	}
	return string(b), nil
}

// truthFunc is alltrue or anytrue: whether one element being otherwise decides.
func truthFunc(all bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			result := cty.BoolVal(all)
			for _, e := range args[0].AsValueSlice() {
				switch {
				case !e.IsKnown():
					result = cty.UnknownVal(cty.Bool)
				case e.IsNull() && all, !e.IsNull() && e.True() != all:
					return cty.BoolVal(!all), nil
				}
			}
			return result, nil
		},
	})
}

func sumFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Number)}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			total := cty.Zero
			for _, e := range args[0].AsValueSlice() {
				if e.IsNull() {
					return cty.NilVal, function.NewArgErrorf(0, "it holds a null")
				}
				var err error
				if total, err = stdlib.Add(total, e); err != nil {
					return cty.NilVal, err
				}
			}
			return total, nil
		},
	})
}

// oneFunc is the only element of a list or set, or null if it is empty.
func oneFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
		Type: func(args []cty.Value) (cty.Type, error) {
			switch t := args[0].Type(); {
			case t.IsListType() || t.IsSetType():
				return t.ElementType(), nil
			case t.IsTupleType() && t.Length() == 0:
				return cty.DynamicPseudoType, nil
			case t.IsTupleType() && t.Length() == 1:
				return t.TupleElementType(0), nil
			}
			return cty.NilType, function.NewArgErrorf(0, "a list or set of at most one element is required")
		},
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			list := args[0].AsValueSlice()
			switch len(list) {
			case 0:
				return cty.NullVal(t), nil
			case 1:
				return list[0], nil
			}
			return cty.NilVal, function.NewArgErrorf(0, "a list or set of at most one element is required, and this has %d", len(list))
		},
	})
}

// sensitiveFunc marks a value as one that may not be stored or shown.
func sensitiveFunc(p *Problems) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true}},
		Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			p.HideAll(args[0])
			return args[0].Mark(Sensitive), nil
		},
	})
}

// nonsensitiveFunc takes the mark off: its author vouches that the value may be
// seen.
func nonsensitiveFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true}},
		Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, _ := args[0].UnmarkDeep()
			return v, nil
		},
	})
}

// issensitiveFunc tells whether a value may not be stored or shown.
func issensitiveFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(args[0].ContainsMarked()), nil
		},
	})
}
