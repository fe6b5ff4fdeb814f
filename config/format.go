package config

import (
	"fmt"

	"github.com/agentform/agentform/config/expr"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// Format returns a manifest in canonical format, or an error with the line.
func Format(src []byte) ([]byte, error) {
	if len(src) > expr.MaxFile {
		return nil, fmt.Errorf("format: larger than %d MiB", expr.MaxFile>>20)
	}
	if _, diags := expr.ParseSource(src, "manifest.hcl"); diags.HasErrors() {
		d := diags[0]
		return nil, fmt.Errorf("format: line %d: %s: %s", d.Subject.Start.Line, d.Summary, d.Detail)
	}
	return hclwrite.Format(src), nil
}
