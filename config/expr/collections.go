package expr

import (
	"maps"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// timecmpFunc is timecmp(A, B): -1, 0 or 1 as the first time is before, at or
// after the second.
func timecmpFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "timestamp_a", Type: cty.String}, {Name: "timestamp_b", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			var times [2]time.Time
			for i, a := range args {
				t, err := time.Parse(time.RFC3339, a.AsString())
				if err != nil {
					return cty.NilVal, function.NewArgErrorf(i, "%q is no time like 2006-01-02T15:04:05Z", Cut(a.AsString()))
				}
				times[i] = t
			}
			return cty.NumberIntVal(int64(times[0].Compare(times[1]))), nil
		},
	})
}

// indexFunc is index(LIST, VALUE): where the value stands first.
func indexFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}, {Name: "value", Type: cty.DynamicPseudoType}},
		Type: func(args []cty.Value) (cty.Type, error) {
			if t := args[0].Type(); !t.IsListType() && !t.IsTupleType() {
				return cty.NilType, function.NewArgErrorf(0, "a list is required, not %s", t.FriendlyName())
			}
			return cty.Number, nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			for i, e := range args[0].AsValueSlice() {
				same := e.Equals(args[1])
				if !same.IsKnown() {
					return cty.UnknownVal(cty.Number), nil
				}
				if same.True() {
					return cty.NumberIntVal(int64(i)), nil
				}
			}
			return cty.NilVal, function.NewArgErrorf(1, "the list does not hold it")
		},
	})
}

// lookupFunc is lookup(MAP, KEY, DEFAULT), and without a default a KEY that must
// be there.
func lookupFunc() function.Function {
	params := stdlib.LookupFunc.Params()
	return function.New(&function.Spec{
		Params:   params[:2],
		VarParam: &params[2],
		Type: func(args []cty.Value) (cty.Type, error) {
			switch {
			case len(args) > 3:
				return cty.NilType, function.NewArgErrorf(3, "lookup takes a map, a key and at most one default")
			case len(args) == 3:
				return stdlib.LookupFunc.ReturnTypeForValues(args)
			}
			table, _ := args[0].Unmark()
			key, _ := args[1].Unmark()
			switch t := table.Type(); {
			case t.IsMapType():
				return t.ElementType(), nil
			case !t.IsObjectType():
				return cty.NilType, function.NewArgErrorf(0, "a map or an object is required, not %s", t.FriendlyName())
			case !key.IsKnown():
				return cty.DynamicPseudoType, nil
			case !t.HasAttribute(key.AsString()):
				return cty.NilType, function.NewArgErrorf(1, "there is no key %q, and no default is given", Cut(key.AsString()))
			default:
				return t.AttributeType(key.AsString()), nil
			}
		},
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			if len(args) == 3 {
				return stdlib.LookupFunc.Call(args)
			}
			table, tableMarks := args[0].Unmark()
			key, keyMarks := args[1].Unmark()
			if !table.IsKnown() || !key.IsKnown() {
				return cty.UnknownVal(t).WithMarks(tableMarks, keyMarks), nil
			}
			v, there := table.AsValueMap()[key.AsString()]
			if !there {
				return cty.NilVal, function.NewArgErrorf(1, "there is no key %q, and no default is given", Cut(key.AsString()))
			}
			return v.WithMarks(tableMarks, keyMarks), nil
		},
	})
}

// matchkeysFunc is matchkeys(VALUES, KEYS, WANTED): those values whose key, at the
// same place in the second list, is among the wanted.
func matchkeysFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "values", Type: cty.List(cty.DynamicPseudoType)},
			{Name: "keys", Type: cty.List(cty.DynamicPseudoType)},
			{Name: "searchset", Type: cty.List(cty.DynamicPseudoType)},
		},
		Type: func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			for _, a := range args {
				if !a.IsWhollyKnown() {
					return cty.UnknownVal(t), nil
				}
			}
			values, keys := args[0].AsValueSlice(), args[1].AsValueSlice()
			if len(values) != len(keys) {
				return cty.NilVal, function.NewArgErrorf(1, "there are %d keys for %d values", len(keys), len(values))
			}
			wanted := map[int][]cty.Value{} // by hash
			for _, w := range args[2].AsValueSlice() {
				h := w.Hash()
				if !slices.ContainsFunc(wanted[h], w.RawEquals) {
					wanted[h] = append(wanted[h], w)
				}
			}
			var found []cty.Value
			for i, k := range keys {
				if slices.ContainsFunc(wanted[k.Hash()], k.RawEquals) {
					found = append(found, values[i])
				}
			}
			if len(found) == 0 {
				return cty.ListValEmpty(t.ElementType()), nil
			}
			return cty.ListVal(found), nil
		},
	})
}

// transposeFunc is transpose(MAP): for each text in the lists of a map the keys
// that it stands under.
func transposeFunc() function.Function {
	lists := cty.Map(cty.List(cty.String))
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "values", Type: lists}},
		Type:   function.StaticReturnType(lists),
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			if !args[0].IsWhollyKnown() {
				return cty.UnknownVal(t), nil
			}
			under := map[string][]cty.Value{}
			table := args[0].AsValueMap()
			for _, key := range slices.Sorted(maps.Keys(table)) {
				if table[key].IsNull() {
					return cty.NilVal, function.NewArgErrorf(0, "it holds a null under %q", Cut(key))
				}
				for _, e := range table[key].AsValueSlice() {
					if e.IsNull() {
						return cty.NilVal, function.NewArgErrorf(0, "the list under %q holds a null", Cut(key))
					}
					under[e.AsString()] = append(under[e.AsString()], cty.StringVal(key))
				}
			}
			if len(under) == 0 {
				return cty.MapValEmpty(cty.List(cty.String)), nil
			}
			out := make(map[string]cty.Value, len(under))
			for text, keys := range under {
				out[text] = cty.ListVal(keys)
			}
			return cty.MapVal(out), nil
		},
	})
}
