package expr

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// MaxFile is the largest file that is read: a manifest of 10 000 sessions
// written out is under 4 MiB.
const MaxFile = 4 << 20

// File is one file to read: its absolute path and what it is called in messages.
type File struct {
	Path, Name string
}

// ParseFile reads one HCL file, in the JSON syntax if its name ends so.
func (p *Problems) ParseFile(f File) (hcl.Body, bool) {
	src, err := ReadFile(f.Path)
	if err != nil {
		p.FailNowhere("Unreadable file", "%s cannot be read: %s.", f.Name, Reason(err))
		return nil, false
	}
	parsed, diags := ParseSource(src, f.Name)
	if parsed != nil {
		p.Sources[f.Name] = parsed
	}
	p.Diags = append(p.Diags, diags...)
	if parsed == nil || slices.ContainsFunc(diags, spoils) {
		return nil, false
	}
	if body, native := parsed.Body.(*hclsyntax.Body); native {
		diags := prepare(body)
		p.Diags = append(p.Diags, diags...)
		if diags.HasErrors() {
			return nil, false
		}
	}
	return parsed.Body, true
}

// spoils reports whether a problem of the syntax leaves the rest of the file in
// doubt. What is set twice is read as it was set first.
func spoils(d *hcl.Diagnostic) bool {
	return d.Severity == hcl.DiagError && d.Summary != "Attribute redefined"
}

// Parse parses an expression whose nesting is bounded.
func Parse(text, filename string, start hcl.Pos) (hclsyntax.Expression, hcl.Diagnostics) {
	if d := tooDeep([]byte(text), filename, false); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	parsed, diags := hclsyntax.ParseExpression([]byte(text), filename, start)
	if !diags.HasErrors() {
		diags = append(diags, prepare(parsed)...)
	}
	return parsed, diags
}

// ParseSource parses a text whose nesting is bounded.
func ParseSource(src []byte, name string) (*hcl.File, hcl.Diagnostics) {
	json := strings.HasSuffix(name, ".json")
	if d := tooDeep(src, name, json); d != nil {
		return &hcl.File{Bytes: src, Body: hcl.EmptyBody()}, hcl.Diagnostics{d}
	}
	if json {
		return hcljson.Parse(src, name)
	}
	return hclsyntax.ParseConfig(src, name, hcl.InitialPos)
}
