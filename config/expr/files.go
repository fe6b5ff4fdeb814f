package expr

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// fileFunc is file(PATH): the text of a file of the repository.
func fileFunc(d *Dirs) function.Function {
	return define(cty.String, func(args []cty.Value) (cty.Value, error) {
		name, marks := args[0].Unmark()
		text, err := d.readText(name.AsString(), len(marks) > 0)
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return cty.StringVal(text).WithMarks(marks), nil
	}, function.Parameter{Name: "path", Type: cty.String, AllowMarked: true})
}

// templateFunc is templatefile(PATH, VARS) or templatestring(TEMPLATE, VARS).
func templateFunc(d *Dirs, all map[string]function.Function, fromFile bool) function.Function {
	render := func(args []cty.Value) (cty.Value, error) {
		first, marks := args[0].Unmark()
		text, name := first.AsString(), "<template>"
		if fromFile {
			name = text
			var err error
			if text, err = d.readText(name, len(marks) > 0); err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
		}
		given, objectMarks := args[1].Unmark()
		if t := given.Type(); !t.IsObjectType() && !t.IsMapType() {
			return cty.NilVal, function.NewArgErrorf(1, "a map or an object of the template's variables is required")
		}
		if !given.IsKnown() {
			return cty.DynamicVal.WithMarks(marks, objectMarks), nil
		}
		if deep := deepTokens([]byte(text), name, hclsyntax.LexTemplate); deep != nil {
			return cty.NilVal, function.NewArgErrorf(0, "%s: %s", name, deep.Detail)
		}
		expr, diags := hclsyntax.ParseTemplate([]byte(text), name, hcl.InitialPos)
		if diags.HasErrors() {
			return cty.NilVal, function.NewArgErrorf(0, "%s", inTemplate(diags))
		}
		vars := given.AsValueMap()
		for _, t := range expr.Variables() {
			if _, ok := vars[t.RootName()]; !ok {
				return cty.NilVal, function.NewArgErrorf(1, "the template uses %q at %s, which is not among its variables", t.RootName(), Place(t.SourceRange()))
			}
		}
		if diags = prepare(expr); diags.HasErrors() {
			return cty.NilVal, function.NewArgErrorf(0, "%s", inTemplate(diags))
		}
		fs := maps.Clone(all) // without templates, which could include each other without end
		maps.DeleteFunc(fs, func(name string, _ function.Function) bool { return strings.HasPrefix(name, "template") })
		v, diags := expr.Value(&hcl.EvalContext{Variables: vars, Functions: fs})
		if diags.HasErrors() {
			return cty.NilVal, function.NewArgErrorf(0, "%s", inTemplate(diags))
		}
		return v.WithMarks(marks, objectMarks), nil
	}
	takes := "template"
	if fromFile {
		takes = "path"
	}
	return define(cty.DynamicPseudoType, render,
		function.Parameter{Name: takes, Type: cty.String, AllowMarked: true},
		function.Parameter{Name: "vars", Type: cty.DynamicPseudoType, AllowMarked: true})
}

func inTemplate(diags hcl.Diagnostics) string {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return fmt.Sprintf("%s: %s: %s", Place(*d.Subject), d.Summary, strings.TrimSuffix(d.Detail, "."))
		}
	}
	return diags.Error()
}

// filesetFunc is fileset(DIR, PATTERN). ** matches any number of directories.
func filesetFunc(d *Dirs) function.Function {
	return define(cty.Set(cty.String), func(args []cty.Value) (cty.Value, error) {
		dir, err := d.confine(args[0].AsString(), false)
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		pattern := path.Clean(args[1].AsString())
		if path.IsAbs(pattern) || !fs.ValidPath(pattern) {
			return cty.NilVal, function.NewArgErrorf(1, "a pattern must be relative to the directory and inside it")
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return cty.NilVal, function.NewArgErrorf(1, "%q is not a valid pattern", pattern)
		}
		var found []cty.Value
		if err := glob(dir, "", strings.Split(pattern, "/"), &found); err != nil {
			return cty.NilVal, function.NewArgErrorf(0, "%s", Reason(err))
		}
		if len(found) == 0 {
			return cty.SetValEmpty(cty.String), nil
		}
		return cty.SetVal(found), nil
	}, param("path", cty.String), param("pattern", cty.String))
}

// glob finds regular files, without following symbolic links.
func glob(dir, prefix string, pattern []string, found *[]cty.Value) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	deep := pattern[0] == "**"
	if deep && len(pattern) > 1 {
		if err := glob(dir, prefix, pattern[1:], found); err != nil {
			return err
		}
	}
	for _, e := range entries {
		name := e.Name()
		matched, _ := path.Match(pattern[0], name)
		switch {
		case e.IsDir() && name == ".git":
		case e.IsDir() && deep:
			err = glob(filepath.Join(dir, name), prefix+name+"/", pattern, found)
		case e.IsDir() && matched && len(pattern) > 1:
			err = glob(filepath.Join(dir, name), prefix+name+"/", pattern[1:], found)
		case e.Type().IsRegular() && len(pattern) == 1 && (matched || deep):
			*found = append(*found, cty.StringVal(prefix+name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func bytesFunc(d *Dirs, of func([]byte) string) function.Function {
	return stringFunc("path", func(name string) (string, error) {
		full, err := d.confine(name, false)
		if err != nil {
			return "", err
		}
		src, err := readRegular(full, fmt.Sprintf("%q", name))
		if err != nil {
			return "", err
		}
		return of(src), nil
	})
}

// fileexistsFunc is fileexists(PATH): whether a regular file exists.
func fileexistsFunc(d *Dirs) function.Function {
	return define(cty.Bool, func(args []cty.Value) (cty.Value, error) {
		name := args[0].AsString()
		full, err := d.confine(name, false)
		if errors.As(err, new(absent)) {
			return cty.False, nil
		}
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		info, err := os.Stat(full)
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(0, "%q cannot be read: %s", name, Reason(err))
		}
		if !info.Mode().IsRegular() {
			return cty.NilVal, function.NewArgErrorf(0, "%q is not a regular file; fileset lists the files of a directory", name)
		}
		return cty.True, nil
	}, param("path", cty.String))
}
