package expr

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// truth is alltrue(LIST) or anytrue(LIST).
func truth(all bool) implementation {
	return func(args []cty.Value) (cty.Value, error) {
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
	}
}

func sum(args []cty.Value) (_ cty.Value, err error) {
	total := cty.Zero
	for _, e := range args[0].AsValueSlice() {
		if e.IsNull() {
			return cty.NilVal, function.NewArgErrorf(0, "the list contains null")
		}
		if total, err = stdlib.Add(total, e); err != nil {
			return cty.NilVal, err
		}
	}
	return total, nil
}

// one is one(LIST): the only element, or null if there is none.
func one(args []cty.Value) (cty.Value, error) {
	t := args[0].Type()
	if !t.IsListType() && !t.IsSetType() && !t.IsTupleType() || args[0].LengthInt() > 1 {
		return cty.NilVal, function.NewArgErrorf(0, "a list or set of at most one element is required")
	}
	for _, e := range args[0].AsValueSlice() {
		return e, nil
	}
	return cty.NullVal(cty.DynamicPseudoType), nil
}

// index is index(LIST, VALUE): the position of the first element that is the value.
func index(args []cty.Value) (cty.Value, error) {
	if t := args[0].Type(); !t.IsListType() && !t.IsTupleType() {
		return cty.NilVal, function.NewArgErrorf(0, "a list is required, not %s", t.FriendlyName())
	}
	for i, e := range args[0].AsValueSlice() {
		same := e.Equals(args[1])
		if !same.IsKnown() {
			return cty.UnknownVal(cty.Number), nil
		}
		if same.True() {
			return cty.NumberIntVal(int64(i)), nil
		}
	}
	return cty.NilVal, function.NewArgErrorf(1, "the list does not contain it")
}

// length is length(VALUE): the number of elements, or of characters in a string.
func length(args []cty.Value) (cty.Value, error) {
	switch t := args[0].Type(); {
	case t == cty.String:
		return stdlib.Strlen(args[0])
	case t.IsObjectType():
		return cty.NumberIntVal(int64(len(t.AttributeTypes()))), nil
	case t.IsCollectionType() || t.IsTupleType():
		return args[0].Length(), nil
	}
	return cty.NilVal, function.NewArgErrorf(0, "a string, a list, a set or a map is required")
}

// lookupFunc is lookup(MAP, KEY, DEFAULT). Without a default the key must exist.
func lookupFunc() function.Function {
	params := stdlib.LookupFunc.Params()
	return function.New(&function.Spec{
		Params:   params[:2],
		VarParam: &params[2],
		Type:     function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			switch {
			case len(args) > 3:
				return cty.NilVal, function.NewArgErrorf(3, "lookup takes a map, a key and at most one default")
			case len(args) == 3:
				return stdlib.LookupFunc.Call(args)
			}
			if t := args[0].Type(); !t.IsMapType() && !t.IsObjectType() {
				return cty.NilVal, function.NewArgErrorf(0, "a map or an object is required, not %s", t.FriendlyName())
			}
			v, diags := hcl.Index(args[0], args[1], nil)
			if diags.HasErrors() {
				key, _ := args[1].Unmark()
				return cty.NilVal, function.NewArgErrorf(1, "there is no key %q, and no default is given", Cut(key.AsString()))
			}
			return v, nil
		},
	})
}

// matchkeys is matchkeys(VALUES, KEYS, WANTED): the values whose key, at the same
// position of the second list, is among the wanted.
func matchkeys(args []cty.Value) (cty.Value, error) {
	t := args[0].Type()
	if slices.ContainsFunc(args, func(a cty.Value) bool { return !a.IsWhollyKnown() }) {
		return cty.UnknownVal(t), nil
	}
	values, keys, wanted := args[0].AsValueSlice(), args[1].AsValueSlice(), args[2].AsValueSlice()
	if len(values) != len(keys) {
		return cty.NilVal, function.NewArgErrorf(1, "there are %d keys for %d values", len(keys), len(values))
	}
	found := slices.DeleteFunc(values, func(cty.Value) bool {
		key := keys[0]
		keys = keys[1:]
		return !slices.ContainsFunc(wanted, key.RawEquals)
	})
	if len(found) == 0 {
		return cty.ListValEmpty(t.ElementType()), nil
	}
	return cty.ListVal(found), nil
}

// transpose is transpose(MAP): for each string in the lists of a map, the keys of the
// lists that contain it.
func transpose(args []cty.Value) (cty.Value, error) {
	t := args[0].Type()
	if !args[0].IsWhollyKnown() {
		return cty.UnknownVal(t), nil
	}
	keys := map[string][]cty.Value{}
	table := args[0].AsValueMap()
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if table[key].IsNull() {
			return cty.NilVal, function.NewArgErrorf(0, "the value of %q is null", Cut(key))
		}
		for _, e := range table[key].AsValueSlice() {
			if e.IsNull() {
				return cty.NilVal, function.NewArgErrorf(0, "the list of %q contains null", Cut(key))
			}
			keys[e.AsString()] = append(keys[e.AsString()], cty.StringVal(key))
		}
	}
	if len(keys) == 0 {
		return cty.MapValEmpty(t.ElementType()), nil
	}
	out := make(map[string]cty.Value, len(keys))
	for text, list := range keys {
		out[text] = cty.ListVal(list)
	}
	return cty.MapVal(out), nil
}
