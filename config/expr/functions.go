package expr

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-cty-funcs/collection"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// mark is the type of the marks on values.
type mark string

// Sensitive marks a value that may not be stored or shown.
const Sensitive = mark("sensitive")

// Functions are what expressions may call: cty's standard library under
// Terraform's names, and the few that look outside.
func Functions(d *Dirs, p *Problems, w *Watch) map[string]function.Function {
	fs := map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "log": stdlib.LogFunc,
		"max": stdlib.MaxFunc, "min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc, "signum": stdlib.SignumFunc,

		"chomp": stdlib.ChompFunc, "format": stdlib.FormatFunc, "formatlist": stdlib.FormatListFunc, "indent": stdlib.IndentFunc,
		"join": stdlib.JoinFunc, "lower": stdlib.LowerFunc, "upper": stdlib.UpperFunc, "title": stdlib.TitleFunc,
		"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc, "replace": replaceFunc(), "split": stdlib.SplitFunc,
		"strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc,
		"trimsuffix": stdlib.TrimSuffixFunc, "trimspace": stdlib.TrimSpaceFunc,
		"startswith": testFunc("prefix", strings.HasPrefix), "endswith": testFunc("suffix", strings.HasSuffix),
		"strcontains": testFunc("substr", strings.Contains),

		"chunklist": stdlib.ChunklistFunc, "coalesce": collection.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc,
		"concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "distinct": distinctFunc(), "element": stdlib.ElementFunc,
		"flatten": stdlib.FlattenFunc, "keys": stdlib.KeysFunc, "length": lengthFunc(),
		"merge": stdlib.MergeFunc, "range": stdlib.RangeFunc, "reverse": stdlib.ReverseListFunc,
		"setintersection": stdlib.SetIntersectionFunc, "setproduct": stdlib.SetProductFunc, "setsubtract": stdlib.SetSubtractFunc,
		"setunion": stdlib.SetUnionFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "values": stdlib.ValuesFunc,
		"zipmap": stdlib.ZipmapFunc,

		"csvdecode": stdlib.CSVDecodeFunc, "jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"yamldecode": yaml.YAMLDecodeFunc, "yamlencode": yaml.YAMLEncodeFunc,
		"formatdate": stdlib.FormatDateFunc, "timeadd": stdlib.TimeAddFunc,

		"tobool": stdlib.MakeToFunc(cty.Bool), "tonumber": stdlib.MakeToFunc(cty.Number), "tostring": stdlib.MakeToFunc(cty.String),
		"tolist": uniformly(stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType))), "tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
		"toset": uniformly(stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType))),

		"can": tryfunc.CanFunc, "try": tryFunc(),

		"env": envFunc(d, p), "file": fileFunc(d), "fileexists": fileexistsFunc(d), "fileset": filesetFunc(d),
	}
	maps.Copy(fs, terraformFunctions())
	fs["sensitive"] = sensitiveFunc(p)
	digests(d, fs)
	fs["templatefile"] = templateFunc(d, fs, true)
	fs["templatestring"] = templateFunc(d, fs, false)
	for name, f := range fs {
		if name != "can" && name != "try" { // they are given expressions, whose functions are guarded
			fs[name] = guard(name, f, w)
		}
	}
	return fs
}

// FunctionNames lists the functions.
func FunctionNames() []string {
	return slices.Sorted(maps.Keys(Functions(nil, nil, nil)))
}

// tryFunc is try without finding out the type of what it returns first: it would
// evaluate its arguments twice for that, and those in them four times.
func tryFunc() function.Function {
	return function.New(&function.Spec{
		VarParam: tryfunc.TryFunc.VarParam(),
		Type:     function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			var problems []string
			for _, arg := range args {
				v, diags := customdecode.ExpressionClosureFromVal(arg).Value()
				if !diags.HasErrors() {
					return v, nil
				}
				for _, d := range diags {
					problems = append(problems, fmt.Sprintf("\n- %s: %s", d.Summary, d.Detail))
				}
			}
			return cty.NilVal, fmt.Errorf("no expression succeeded:%s", strings.Join(problems, ""))
		},
	})
}

// uniformly is a conversion to a list or a set that takes time in proportion to
// the elements, also of what stands in brackets, which is a tuple.
func uniformly(f function.Function) function.Function {
	plain := func(v cty.Value) []cty.Value { return []cty.Value{uniform(v, cty.List(cty.DynamicPseudoType))} }
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "v", Type: cty.DynamicPseudoType, AllowNull: true, AllowMarked: true, AllowUnknown: true, AllowDynamicType: true}},
		Type:   func(args []cty.Value) (cty.Type, error) { return f.ReturnTypeForValues(plain(args[0])) },
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(plain(args[0])) },
	})
}

// testFunc asks something of two texts.
func testFunc(second string, is func(s, t string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: second, Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(is(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

// lengthFunc is Terraform's length: of a collection, or the characters of a
// text.
func lengthFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
		Type: func(args []cty.Value) (cty.Type, error) {
			t := args[0].Type()
			if t == cty.String || t.IsCollectionType() || t.IsTupleType() || t.IsObjectType() || t == cty.DynamicPseudoType {
				return cty.Number, nil
			}
			return cty.NilType, function.NewArgErrorf(0, "a text, a list, a set or a map is required")
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			switch t := args[0].Type(); {
			case t == cty.DynamicPseudoType:
				return cty.UnknownVal(cty.Number), nil
			case t == cty.String:
				return stdlib.Strlen(args[0])
			case t.IsObjectType():
				return cty.NumberIntVal(int64(len(t.AttributeTypes()))), nil
			}
			return args[0].Length(), nil
		},
	})
}

// distinctFunc is distinct in time proportional to the elements.
func distinctFunc() function.Function {
	return function.New(&function.Spec{
		Params: stdlib.DistinctFunc.Params(),
		Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
			if !args[0].IsWhollyKnown() {
				return cty.UnknownVal(t), nil
			}
			seen := map[int][]cty.Value{} // by hash
			var kept []cty.Value
			for _, e := range args[0].AsValueSlice() {
				h := e.Hash()
				if !slices.ContainsFunc(seen[h], e.RawEquals) {
					seen[h] = append(seen[h], e)
					kept = append(kept, e)
				}
			}
			if kept == nil {
				return args[0], nil
			}
			return cty.ListVal(kept), nil
		},
	})
}

// replaceFunc is Terraform's replace: what stands between slashes is a regular
// expression.
func replaceFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: "substr", Type: cty.String}, {Name: "replace", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			str, sub, with := args[0].AsString(), args[1].AsString(), args[2].AsString()
			if len(sub) < 2 || sub[0] != '/' || sub[len(sub)-1] != '/' {
				return cty.StringVal(strings.ReplaceAll(str, sub, with)), nil
			}
			re, err := regexp.Compile(sub[1 : len(sub)-1])
			if err != nil {
				return cty.NilVal, function.NewArgError(1, err)
			}
			return cty.StringVal(re.ReplaceAllString(str, with)), nil
		},
	})
}

// envFunc reads agentform's own environment: env(NAME), or env(NAME, DEFAULT).
// What looks like a secret by its name comes out as a sensitive value.
func envFunc(d *Dirs, p *Problems) function.Function {
	return function.New(&function.Spec{
		Params:   []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam: &function.Parameter{Name: "default", Type: cty.String, AllowNull: true},
		Type:     function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			value, set := d.Env[name]
			switch {
			case len(args) > 2:
				return cty.NilVal, fmt.Errorf("env takes a name and at most one default")
			case !set && len(args) == 2:
				return args[1], nil
			case !set:
				return cty.NilVal, function.NewArgErrorf(0, "the environment variable %q is not set; env(%q, \"\") gives a default", name, name)
			case secretName(name):
				p.hide(value)
				return cty.StringVal(value).Mark(Sensitive), nil
			}
			return cty.StringVal(value), nil
		},
	})
}

// secretName reports whether an environment variable's name says that it holds a
// secret.
func secretName(name string) bool {
	words := strings.Split(strings.ToUpper(name), "_")
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS"}, w)
	})
}
