package expr

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Block is a parsed block, before anything in it is evaluated. A nil block is empty.
type Block struct {
	Type        string
	Labels      []string
	LabelRanges []hcl.Range
	Def         hcl.Range // its type and labels
	Attrs       map[string]*Attr
	Blocks      map[string][]*Block
	Broken      bool // has syntax errors, so that nothing in it can be reported missing
}

// Attr is an attribute's expression.
type Attr struct {
	Name        string
	Choices     []string // the words that it can be; nil: any value
	Expr        hcl.Expression
	Range       hcl.Range
	Bad         bool       // has an invalid reference, which was reported
	PerInstance bool       // refers to each, count or self
	Value       *evaluated // once evaluated, unless PerInstance
}

// Block returns the nested block of a type, or nil.
func (b *Block) Block(typ string) *Block {
	if b == nil || len(b.Blocks[typ]) == 0 {
		return nil
	}
	return b.Blocks[typ][0]
}

// Attr returns the attribute with a name, or nil.
func (b *Block) Attr(name string) *Attr {
	if b == nil {
		return nil
	}
	return b.Attrs[name]
}

// At returns the range of an attribute, or of the block's header without it.
func (b *Block) At(name string) hcl.Range {
	if a := b.Attr(name); a != nil {
		return a.Range
	}
	return b.Def
}

// Title returns the block's type and labels: session "api".
func (b *Block) Title() string {
	if len(b.Labels) == 0 {
		return b.Type
	}
	return b.Type + ` "` + strings.Join(b.Labels, `" "`) + `"`
}

// Sorted returns the attributes by name, so that problems have a stable order.
func (b *Block) Sorted() []*Attr {
	var list []*Attr
	for _, name := range slices.Sorted(maps.Keys(b.Attrs)) {
		list = append(list, b.Attrs[name])
	}
	return list
}
