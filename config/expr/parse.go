package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// MaxFile is the size limit of files in bytes. 10 000 sessions take less.
const MaxFile = 4 << 20

// ParseFile reads an HCL file, in the JSON syntax if its name ends in .json. name is what
// messages call it. Not ok: the file is unusable, which was reported.
func (p *Problems) ParseFile(path, name string) (hcl.Body, bool) {
	src, err := ReadFile(path)
	if err != nil {
		p.FailNowhere("Unreadable file", "%s cannot be read: %s.", name, Reason(err))
		return nil, false
	}
	parsed, diags := ParseSource(src, name)
	if parsed != nil {
		p.Sources[name] = parsed
	}
	p.Diags = append(p.Diags, upToOpenString(diags)...)
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

// upToOpenString removes the errors after the first unterminated string of a line: HCL then
// confuses strings with what is between them.
func upToOpenString(diags hcl.Diagnostics) hcl.Diagnostics {
	open := slices.IndexFunc(diags, func(d *hcl.Diagnostic) bool { return d.Summary == "Invalid multi-line string" })
	if open < 0 {
		return diags
	}
	first := *diags[open]
	kept := slices.DeleteFunc(slices.Clone(diags), func(d *hcl.Diagnostic) bool {
		return d.Subject != nil && d.Subject.Start.Byte >= first.Subject.Start.Byte
	})
	if n := len(diags) - len(kept) - 1; n > 0 {
		first.Detail += fmt.Sprintf("\nNot shown are errors further down in this file that may follow from it: %d.", n)
	}
	return append(kept, &first)
}

// Of an attribute that is set twice, the first one counts.
func spoils(d *hcl.Diagnostic) bool {
	return d.Severity == hcl.DiagError && d.Summary != "Attribute redefined"
}

// Parse parses an expression of limited depth.
func Parse(text, filename string, start hcl.Pos) (hclsyntax.Expression, hcl.Diagnostics) {
	if d := deepTokens([]byte(text), filename, hclsyntax.LexExpression); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	parsed, diags := hclsyntax.ParseExpression([]byte(text), filename, start)
	if !diags.HasErrors() {
		diags = append(diags, prepare(parsed)...)
	}
	return parsed, diags
}

// ParseSource parses a file of limited depth.
func ParseSource(src []byte, name string) (*hcl.File, hcl.Diagnostics) {
	if strings.HasSuffix(name, ".json") {
		if d := deepJSON(src, name); d != nil {
			return &hcl.File{Bytes: src, Body: hcl.EmptyBody()}, hcl.Diagnostics{d}
		}
		return hcljson.Parse(src, name)
	}
	if d := deepTokens(src, name, hclsyntax.LexConfig); d != nil {
		return &hcl.File{Bytes: src, Body: hcl.EmptyBody()}, hcl.Diagnostics{d}
	}
	return hclsyntax.ParseConfig(src, name, hcl.InitialPos)
}
