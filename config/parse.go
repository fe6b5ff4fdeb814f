package config

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// maxFile is the largest file that is read: a manifest of 10 000 sessions
// written out is under 4 MiB.
const maxFile = 4 << 20

// parseFile reads one HCL file, in the JSON syntax if its name ends so.
func (p *problems) parseFile(f file) (hcl.Body, bool) {
	src, err := readFile(f.path)
	if err != nil {
		p.failNowhere("Unreadable file", "%s cannot be read: %s.", f.name, reason(err))
		return nil, false
	}
	parsed, diags := parseSource(src, f.name)
	if parsed != nil {
		p.sources[f.name] = parsed
	}
	p.diags = append(p.diags, diags...)
	if parsed == nil || slices.ContainsFunc(diags, spoils) {
		return nil, false
	}
	if body, native := parsed.Body.(*hclsyntax.Body); native {
		diags := prepare(body)
		p.diags = append(p.diags, diags...)
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

// parseSource parses a text whose nesting is bounded.
func parseSource(src []byte, name string) (*hcl.File, hcl.Diagnostics) {
	json := strings.HasSuffix(name, ".json")
	if d := tooDeep(src, name, json); d != nil {
		return &hcl.File{Bytes: src, Body: hcl.EmptyBody()}, hcl.Diagnostics{d}
	}
	if json {
		return hcljson.Parse(src, name)
	}
	return hclsyntax.ParseConfig(src, name, hcl.InitialPos)
}
