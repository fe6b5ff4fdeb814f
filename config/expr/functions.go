package expr

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/go-cty-funcs/collection"
	"github.com/hashicorp/go-cty-funcs/encoding"
	"github.com/hashicorp/go-cty-funcs/uuid"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

type mark string

// Sensitive marks a value that may not be stored or shown.
const Sensitive = mark("sensitive")

// Functions returns the functions of expressions, under Terraform's names. It reimplements those of
// go-cty-funcs that read outside the repository or log their arguments.
func Functions(d *Dirs, p *Problems, w *Watch) map[string]function.Function {
	list, lists := cty.List(cty.DynamicPseudoType), cty.Map(cty.List(cty.String))
	fs := map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "log": stdlib.LogFunc,
		"max": stdlib.MaxFunc, "min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc, "signum": stdlib.SignumFunc,

		"chomp": stdlib.ChompFunc, "format": stdlib.FormatFunc, "formatlist": stdlib.FormatListFunc, "indent": stdlib.IndentFunc,
		"join": stdlib.JoinFunc, "lower": stdlib.LowerFunc, "upper": stdlib.UpperFunc, "title": stdlib.TitleFunc,
		"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc, "replace": replaceFunc(), "split": stdlib.SplitFunc,
		"strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc,
		"trimsuffix": stdlib.TrimSuffixFunc, "trimspace": stdlib.TrimSpaceFunc,
		"startswith": testFunc("prefix", strings.HasPrefix), "endswith": testFunc("suffix", strings.HasSuffix),
		"strcontains": testFunc("substr", strings.Contains), "basename": pathFunc(path.Base), "dirname": pathFunc(path.Dir),
		"base64encode": encoding.Base64EncodeFunc, "base64decode": base64decodeFunc(), "urlencode": encoding.URLEncodeFunc,
		"uuidv5": uuid.V5Func,

		"alltrue": define(cty.Bool, truth(true), param("list", cty.List(cty.Bool))),
		"anytrue": define(cty.Bool, truth(false), param("list", cty.List(cty.Bool))), "chunklist": stdlib.ChunklistFunc,
		"coalesce": collection.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc,
		"concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc,
		"flatten": stdlib.FlattenFunc, "index": define(cty.Number, index, param("list", cty.DynamicPseudoType), param("value", cty.DynamicPseudoType)), "keys": stdlib.KeysFunc, "length": define(cty.Number, length, param("value", cty.DynamicPseudoType)),
		"lookup": lookupFunc(), "matchkeys": define(cty.DynamicPseudoType, matchkeys, param("values", list), param("keys", list), param("searchset", list)), "merge": stdlib.MergeFunc, "one": define(cty.DynamicPseudoType, one, param("list", cty.DynamicPseudoType)),
		"range": stdlib.RangeFunc, "reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc,
		"setproduct": stdlib.SetProductFunc, "setsubtract": stdlib.SetSubtractFunc, "setunion": stdlib.SetUnionFunc,
		"slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "sum": define(cty.Number, sum, param("list", cty.List(cty.Number))), "transpose": define(lists, transpose, param("values", lists)),
		"values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,

		"csvdecode": stdlib.CSVDecodeFunc, "jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,
		"yamldecode": yaml.YAMLDecodeFunc, "yamlencode": yaml.YAMLEncodeFunc,
		"formatdate": stdlib.FormatDateFunc, "timeadd": stdlib.TimeAddFunc, "timecmp": timecmpFunc(),

		"tobool": stdlib.MakeToFunc(cty.Bool), "tonumber": stdlib.MakeToFunc(cty.Number), "tostring": stdlib.MakeToFunc(cty.String),
		"tolist": uniformly(stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType))), "tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
		"toset": uniformly(stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType))),

		"sensitive": define(cty.DynamicPseudoType, func(args []cty.Value) (cty.Value, error) {
			p.HideAll(args[0])
			return args[0].Mark(Sensitive), nil
		}, anything("value")),
		"nonsensitive": define(cty.DynamicPseudoType, func(args []cty.Value) (cty.Value, error) {
			v, _ := args[0].UnmarkDeep()
			return v, nil
		}, anything("value")),
		"issensitive": define(cty.Bool, func(args []cty.Value) (cty.Value, error) {
			return cty.BoolVal(args[0].ContainsMarked()), nil
		}, anything("value")),
		"can": tryfunc.CanFunc, "try": tryfunc.TryFunc,

		"env": envFunc(d, p), "file": fileFunc(d), "fileexists": fileexistsFunc(d), "fileset": filesetFunc(d),
	}
	addDigests(d, fs)
	fs["templatefile"] = templateFunc(d, fs, true)
	fs["templatestring"] = templateFunc(d, fs, false)
	for name, f := range fs {
		if name != "can" && name != "try" { // the functions in their arguments are guarded
			fs[name] = guard(name, f, w)
		}
	}
	return fs
}

// FunctionNames returns the sorted names of the functions.
func FunctionNames() []string {
	return slices.Sorted(maps.Keys(Functions(nil, nil, nil)))
}

type implementation func(args []cty.Value) (cty.Value, error)

// define returns a function whose values have one type; DynamicPseudoType: any.
func define(result cty.Type, impl implementation, params ...function.Parameter) function.Function {
	return function.New(&function.Spec{
		Params: params,
		Type:   function.StaticReturnType(result),
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return impl(args) },
	})
}

func param(name string, t cty.Type) function.Parameter {
	return function.Parameter{Name: name, Type: t}
}

func anything(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.DynamicPseudoType, AllowUnknown: true, AllowNull: true, AllowMarked: true, AllowDynamicType: true}
}

// uniformly returns a conversion to a list or a set that is linear also for a tuple.
func uniformly(f function.Function) function.Function {
	list := func(v cty.Value) []cty.Value { return []cty.Value{uniform(v, cty.List(cty.DynamicPseudoType))} }
	return function.New(&function.Spec{
		Params: []function.Parameter{anything("v")},
		Type:   func(args []cty.Value) (cty.Type, error) { return f.ReturnTypeForValues(list(args[0])) },
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(list(args[0])) },
	})
}

// envFunc is env(NAME) or env(NAME, DEFAULT). A value is sensitive by its name.
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
				return cty.NilVal, function.NewArgErrorf(2, "env takes a name and at most one default")
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

func secretName(name string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToUpper(name), "_"), func(word string) bool {
		return slices.Contains([]string{"KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS"}, word)
	})
}
