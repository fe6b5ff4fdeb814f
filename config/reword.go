package config

import (
	"fmt"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/language"
	"github.com/hashicorp/hcl/v2"
)

// reword adds to HCL's messages about unknown names where they belong.
func reword(l *loader, diags hcl.Diagnostics, b *expr.Block, s, parent *language.Block) {
	for _, d := range diags {
		switch {
		case d.Subject == nil:
		case d.Summary == "Unsupported argument", d.Summary == "Extraneous JSON object property":
			name := sourceAt(l, *d.Subject)
			d.Summary, d.Detail = "Unknown attribute", unknownAttribute(name, b, s, parent)
			if s.Block(name) != nil {
				d.Summary = "Block written as an attribute"
			}
		case d.Summary == "Unsupported block type":
			name := sourceAt(l, *d.Subject)
			d.Summary, d.Detail = "Unknown block", unknownBlock(name, b, s)
			if s.Attribute(name) != nil {
				d.Summary = "Attribute written as a block"
			}
		case strings.HasPrefix(d.Summary, "Missing ") && strings.Contains(d.Summary, " for "):
			label, typ, _ := strings.Cut(strings.TrimPrefix(d.Summary, "Missing "), " for ")
			d.Summary = "Missing " + label
			d.Detail = fmt.Sprintf("Write it like this: %s { … }", headerForm(s.Block(typ)))
		case strings.HasPrefix(d.Summary, "Extraneous label for "):
			typ := strings.TrimPrefix(d.Summary, "Extraneous label for ")
			d.Summary = "Too many labels"
			d.Detail = fmt.Sprintf("Write it like this: %s { … }", headerForm(s.Block(typ)))
		}
	}
}

func sourceAt(l *loader, r hcl.Range) string {
	f := l.Sources[r.Filename]
	if f == nil || r.End.Byte > len(f.Bytes) || r.Start.Byte > r.End.Byte {
		return ""
	}
	return strings.Trim(string(f.Bytes[r.Start.Byte:r.End.Byte]), `"`)
}

func headerForm(s *language.Block) string {
	typ := s.Type
	for _, label := range s.Labels {
		typ += ` "` + strings.ToUpper(label) + `"`
	}
	return typ
}

func unknownAttribute(name string, b *expr.Block, s, parent *language.Block) string {
	if block := s.Block(name); block != nil {
		return fmt.Sprintf("%q is a block: write %s { … }, without an equals sign.", name, headerForm(block))
	}
	if b.Type == "" {
		return fmt.Sprintf("%q is outside of any block; a manifest consists of blocks.%s", name, expr.DidYouMean(name, s.Types()))
	}
	var inner []string
	for _, typ := range s.Types() {
		if s.Block(typ).Attribute(name) != nil {
			inner = append(inner, typ)
		}
	}
	if len(inner) > 0 {
		return fmt.Sprintf("%q belongs one block deeper, in %s.", name, strings.Join(inner, " { … } or ")+" { … }")
	}
	if parent.Attribute(name) != nil {
		return fmt.Sprintf("%q does not belong in the %s block, but in the block around it.", name, b.Type)
	}
	// Settings of an agent and of its session are easily confused.
	for typ, other := range map[string]string{"session": "agent", "agent": "session"} {
		if sibling := parent.Block(other); b.Type == typ && sibling.Attribute(name) != nil {
			return fmt.Sprintf("%q belongs in the %s block: %s { %s = … }.", name, other, headerForm(sibling), name)
		}
	}
	choices := s.Types()
	for _, a := range s.Names() {
		if b.Attrs[a] == nil {
			choices = append(choices, a)
		}
	}
	return fmt.Sprintf("There is no attribute %q in %s block.%s", name, expr.Article(b.Type), expr.DidYouMean(name, choices))
}

func unknownBlock(name string, b *expr.Block, s *language.Block) string {
	if s.Attribute(name) != nil {
		return fmt.Sprintf("%q is an attribute: write %s = …, with an equals sign.", name, name)
	}
	hint := expr.DidYouMean(name, s.Types())
	if b.Type == "" {
		return fmt.Sprintf("There is no block %q.%s", name, hint)
	}
	return fmt.Sprintf("There is no block %q in %s block.%s", name, expr.Article(b.Type), hint)
}
