package expr

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Block is a block as read, before anything in it is evaluated. A nil block is
// an empty one.
type Block struct {
	Type        string
	Labels      []string
	LabelRanges []hcl.Range
	Def         hcl.Range // its header
	Attrs       map[string]*Attr
	Blocks      map[string][]*Block
	Broken      bool // something in it was not understood: nothing may be called missing
}

// Attr is an attribute's expression.
type Attr struct {
	Name        string
	Choices     []string // of an attribute that takes one of a few words
	Expr        hcl.Expression
	Range       hcl.Range
	Bad         bool       // refers to something that is not there, and that is told
	PerInstance bool       // refers to each, count or self
	Value       *evaluated // once evaluated, unless perInstance
}

// Block is the nested block of that type, or nil.
func (b *Block) Block(typ string) *Block {
	if b == nil || len(b.Blocks[typ]) == 0 {
		return nil
	}
	return b.Blocks[typ][0]
}

// Attr is the attribute of that name, or nil.
func (b *Block) Attr(name string) *Attr {
	if b == nil {
		return nil
	}
	return b.Attrs[name]
}

// At is where to point at when the attribute is meant: itself if it is there,
// else the block's header.
func (b *Block) At(name string) hcl.Range {
	if a := b.Attr(name); a != nil {
		return a.Range
	}
	return b.Def
}

// Title is how a person would call the block: session "api".
func (b *Block) Title() string {
	if len(b.Labels) == 0 {
		return b.Type
	}
	return b.Type + ` "` + strings.Join(b.Labels, `" "`) + `"`
}

// Sorted is the block's attributes by name, so that problems come in one order.
func (b *Block) Sorted() []*Attr {
	var list []*Attr
	for _, name := range slices.Sorted(maps.Keys(b.Attrs)) {
		list = append(list, b.Attrs[name])
	}
	return list
}
