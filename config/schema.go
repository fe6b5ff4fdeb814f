package config

import (
	"maps"
	"slices"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/language"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// readBlocks returns the top-level blocks by type, in order.
func readBlocks(l *loader, bodies []hcl.Body) map[string][]*expr.Block {
	all := map[string][]*expr.Block{}
	top := &language.Block{Blocks: language.Blocks()}
	for _, body := range bodies {
		b := &expr.Block{}
		fillBlock(l, b, body, top, nil)
		for _, typ := range slices.Sorted(maps.Keys(b.Blocks)) {
			all[typ] = append(all[typ], b.Blocks[typ]...)
		}
	}
	return all
}

func fillBlock(l *loader, b *expr.Block, body hcl.Body, s, parent *language.Block) {
	b.Attrs, b.Blocks = map[string]*expr.Attr{}, map[string][]*expr.Block{}
	var attrs hcl.Attributes
	var blocks hcl.Blocks
	var diags hcl.Diagnostics
	if s.Free {
		attrs, diags = body.JustAttributes()
	} else {
		var content *hcl.BodyContent
		content, diags = body.Content(schemaOf(s))
		attrs, blocks = content.Attributes, content.Blocks
	}
	for name, a := range attrs {
		b.Attrs[name] = &expr.Attr{Name: name, Expr: expr.Divided(a.Expr), Range: a.Range}
		if known := s.Attribute(name); known != nil {
			b.Attrs[name].Choices = known.Values
		}
	}
	b.Broken = diags.HasErrors()
	reword(l, diags, b, s, parent)
	l.Add(diags)
	for _, child := range blocks {
		cs := s.Block(child.Type)
		if first := b.Blocks[child.Type]; len(first) > 0 && b.Type != "" && !cs.Repeatable {
			l.Fail(child.DefRange, "Duplicate "+child.Type+" block", "%[2]s can have one %[1]s block, which is at %[3]s.", child.Type, b.Title(), expr.Place(first[0].Def))
			continue
		}
		c := &expr.Block{Type: child.Type, Labels: child.Labels, LabelRanges: child.LabelRanges, Def: header(child)}
		if cs.Kinds != nil {
			of := cs.Kind(c.Labels[0])
			if of == nil {
				kinds := cs.FirstLabels()
				l.Fail(c.LabelRanges[0], "Unknown kind of "+c.Type, "There is no %s %q, only %s.%s", c.Type, c.Labels[0], expr.Quoted(kinds, "and"), expr.DidYouMean(c.Labels[0], kinds))
				c.Broken = true
			}
			cs = of
		}
		b.Blocks[child.Type] = append(b.Blocks[child.Type], c)
		if c.Broken {
			continue
		}
		fillBlock(l, c, child.Body, cs, s)
		b.Broken = b.Broken || c.Broken && b.Type != ""
	}
}

// header returns the range of type and labels. In JSON a block's own is only its brace.
func header(b *hcl.Block) hcl.Range {
	_, native := b.Body.(*hclsyntax.Body)
	switch {
	case native:
	case len(b.LabelRanges) > 0:
		return b.LabelRanges[len(b.LabelRanges)-1]
	default:
		return b.Body.MissingItemRange()
	}
	return b.DefRange
}

func schemaOf(s *language.Block) *hcl.BodySchema {
	out := &hcl.BodySchema{}
	for _, a := range s.Attributes {
		out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: a.Name})
	}
	for _, b := range s.Blocks {
		out.Blocks = append(out.Blocks, hcl.BlockHeaderSchema{Type: b.Type, LabelNames: b.Labels})
	}
	return out
}

// identifier reports whether a name can be part of references and addresses.
func identifier(name string) bool {
	return hclsyntax.ValidIdentifier(name) && addressable(name)
}
