package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// block is a block as read, before anything in it is evaluated. A nil block is
// an empty one.
type block struct {
	typ         string
	labels      []string
	labelRanges []hcl.Range
	def         hcl.Range // its header
	attrs       map[string]*attr
	blocks      map[string][]*block
	broken      bool // something in it was not understood: nothing may be called missing
}

// attr is an attribute's expression.
type attr struct {
	name        string
	choices     []string // of an attribute that takes one of a few words
	expr        hcl.Expression
	rng         hcl.Range
	bad         bool       // refers to something that is not there, and that is told
	perInstance bool       // refers to each, count or self
	value       *evaluated // once evaluated, unless perInstance
}

// block is the nested block of that type, or nil.
func (b *block) block(typ string) *block {
	if b == nil || len(b.blocks[typ]) == 0 {
		return nil
	}
	return b.blocks[typ][0]
}

// attr is the attribute of that name, or nil.
func (b *block) attr(name string) *attr {
	if b == nil {
		return nil
	}
	return b.attrs[name]
}

// at is where to point at when the attribute is meant: itself if it is there,
// else the block's header.
func (b *block) at(name string) hcl.Range {
	if a := b.attr(name); a != nil {
		return a.rng
	}
	return b.def
}

// title is how a person would call the block: session "api".
func (b *block) title() string {
	if len(b.labels) == 0 {
		return b.typ
	}
	return b.typ + ` "` + strings.Join(b.labels, `" "`) + `"`
}

// sorted is the block's attributes by name, so that problems come in one order.
func (b *block) sorted() []*attr {
	var list []*attr
	for _, name := range slices.Sorted(maps.Keys(b.attrs)) {
		list = append(list, b.attrs[name])
	}
	return list
}

// readBlocks takes the bodies apart by the language's shapes.
func readBlocks(l *loader, bodies []hcl.Body) {
	top := shape{blocks: language()}
	for _, body := range bodies {
		b := &block{}
		fillBlock(l, b, body, top, shape{})
		for _, typ := range slices.Sorted(maps.Keys(b.blocks)) {
			l.blocks[typ] = append(l.blocks[typ], b.blocks[typ]...)
		}
	}
}

// fillBlock reads a body into b.
func fillBlock(l *loader, b *block, body hcl.Body, s, parent shape) {
	b.attrs, b.blocks = map[string]*attr{}, map[string][]*block{}
	var attrs hcl.Attributes
	var blocks hcl.Blocks
	var diags hcl.Diagnostics
	if s.free {
		attrs, diags = body.JustAttributes()
	} else {
		var content *hcl.BodyContent
		content, diags = body.Content(s.schema())
		attrs, blocks = content.Attributes, content.Blocks
	}
	for name, a := range attrs {
		b.attrs[name] = &attr{name: name, choices: s.choices(name), expr: divided(a.Expr), rng: a.Range}
	}
	b.broken = diags.HasErrors()
	reword(l, diags, b, s, parent)
	l.add(diags)
	for _, child := range blocks {
		cs := s.blocks[child.Type]
		if first := b.blocks[child.Type]; len(first) > 0 && b.typ != "" && !cs.many {
			l.fail(child.DefRange, "Duplicate "+child.Type+" block", "There can be one %s block in %s, and it stands at %s.", child.Type, b.title(), place(first[0].def))
			continue
		}
		c := &block{typ: child.Type, labels: child.Labels, labelRanges: child.LabelRanges, def: header(child)}
		if cs.kinds != nil {
			of, ok := cs.kinds[c.labels[0]]
			if !ok {
				kinds := slices.Sorted(maps.Keys(cs.kinds))
				l.fail(c.labelRanges[0], "Unknown kind of "+c.typ, "There is no %s %q; there are %s.%s", c.typ, c.labels[0], quoted(kinds, "and"), didYouMean(c.labels[0], kinds))
				c.broken = true
			}
			cs = of
		}
		b.blocks[child.Type] = append(b.blocks[child.Type], c)
		if c.broken {
			continue
		}
		fillBlock(l, c, child.Body, cs, s)
		b.broken = b.broken || c.broken && b.typ != ""
	}
}

// header is the range of a block's type and labels. In JSON a block's own range
// is only its brace.
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

// schema is the shape as HCL wants it.
func (s shape) schema() *hcl.BodySchema {
	out := &hcl.BodySchema{}
	for _, name := range s.names() {
		out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: name})
	}
	for _, typ := range slices.Sorted(maps.Keys(s.blocks)) {
		out.Blocks = append(out.Blocks, hcl.BlockHeaderSchema{Type: typ, LabelNames: s.blocks[typ].labels})
	}
	return out
}

// identifier reports whether a name can be written in a reference and in an
// address.
func identifier(name string) bool {
	return hclsyntax.ValidIdentifier(name) && addressable(name)
}
