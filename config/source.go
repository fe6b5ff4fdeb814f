package config

import (
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/agentform/agentform/session"
)

// Source returns the text of the block that is defined at a place of a manifest; empty: it
// is not there any more, or the manifest is JSON.
func Source(at session.Range) string {
	text, err := os.ReadFile(at.Filename)
	if err != nil {
		return ""
	}
	file, _ := hclsyntax.ParseConfig(text, at.Filename, hcl.InitialPos)
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return ""
	}
	for _, b := range body.Blocks {
		if r := b.Range(); r.Start.Line == at.Start.Line {
			end := b.CloseBraceRange.End.Byte
			return string(text[r.Start.Byte:end])
		}
	}
	return ""
}
