package language

import (
	"cmp"
	"slices"

	"github.com/agentform/agentform/session"
)

// Kind is what an attribute can be, in the words of the reference.
type Kind string

// The kinds of attributes.
const (
	Text        Kind = "string"
	Flag        Kind = "true or false"
	Whole       Kind = "whole number"
	Number      Kind = "number"
	Duration    Kind = "duration" // "90s", "15m", "30d"
	Size        Kind = "size"     // "512MiB", "4GiB"
	Regex       Kind = "regex"    // a regular expression, as text
	Texts       Kind = "list of strings"
	Regexes     Kind = "list of regexes"
	TrueOrTexts Kind = "true or list of strings"
	Command     Kind = "command"    // a program and its arguments, as a list of texts
	Table       Kind = "map"        // of texts
	Path        Kind = "path"       // of a file or directory, as text
	Address     Kind = "session"    // session.NAME, session.NAME["KEY"], session.NAME[0]
	Addresses   Kind = "sessions"   // a list of them
	Agent       Kind = "agent"      // agent.NAME, or its name as text
	Agents      Kind = "agents"     // a list of them
	Runtime     Kind = "runtime"    // runtime.KIND.NAME, or "tmux"
	Paths       Kind = "attributes" // a list of a session's attributes and blocks, or all
	Mounts      Kind = "mounts"     // a list of { source, target, read_only }
	Volumes     Kind = "volumes"    // a list of { target, claim or secret or config_map, read_only }
	Tolerations Kind = "tolerations"
	Type        Kind = "type" // string, number, list(string), …
	Anything    Kind = "any"
)

// What a change of an attribute forces.
const (
	InPlace  = "none"    // it is updated in place
	Restarts = "restart" // the agent is started again
	Replaces = "replace" // the session is recreated
)

// Attribute describes an attribute.
type Attribute struct {
	Name         string   `json:"name"`
	Kind         Kind     `json:"type"`
	Required     bool     `json:"required"`
	Default      string   `json:"default,omitempty"`       // in HCL
	DefaultWords string   `json:"default_words,omitempty"` // if it has no literal
	Values       []string `json:"values,omitempty"`        // of it, or of its elements
	Meanings     []string `json:"meanings,omitempty"`      // of Values, in their order
	Forces       string   `json:"forces,omitempty"`        // by a change; "": it is not compared with the record
	Doc          string   `json:"description"`
	Example      string   `json:"-"` // in HCL; "": its default, its first value or what its kind has

	// Field returns a pointer to its value in a spec; nil: it has none of its own.
	Field       Field   `json:"-"`
	Parts       []Part  `json:"-"` // further values that it sets
	Least, Most float64 `json:"-"` // of a number, a duration or a size; Most 0: no limit
	Empty       bool    `json:"-"` // the text may be empty
	Apart       bool    `json:"-"` // code of its own decodes it, and not that of its kind
}

// Field returns a pointer to a value in a spec.
type Field func(*session.Spec) any

// Part is a value that is compared by itself.
type Part struct {
	Name  string
	Field Field
}

// Block describes a block.
type Block struct {
	Type       string      `json:"type"`
	Labels     []string    `json:"labels,omitempty"`      // their names
	FirstLabel string      `json:"first_label,omitempty"` // of a block in Kinds
	Repeatable bool        `json:"repeatable"`            // in its parent
	Doc        string      `json:"description"`
	Forces     string      `json:"forces,omitempty"`         // by a change of anything in it
	Free       bool        `json:"any_attribute,omitempty"`  // locals
	Kinds      []Block     `json:"by_first_label,omitempty"` // if its content depends on the first label
	Attributes []Attribute `json:"attributes"`
	Blocks     []Block     `json:"blocks"`

	Field Field `json:"-"` // the value that it is compared by as a whole
	// Present sets the defaults that only a spec with the block has.
	Present func(s, defaults *session.Spec) `json:"-"`
}

// Attribute returns the attribute with a name, or nil.
func (b *Block) Attribute(name string) *Attribute {
	if b == nil {
		return nil
	}
	return find(b.Attributes, func(a *Attribute) bool { return a.Name == name })
}

// Block returns the inner block of a type, or nil.
func (b *Block) Block(typ string) *Block {
	return find(b.Blocks, func(inner *Block) bool { return inner.Type == typ })
}

// Kind returns the block with a first label, or nil.
func (b *Block) Kind(first string) *Block {
	return find(b.Kinds, func(k *Block) bool { return k.FirstLabel == first })
}

func find[T any](list []T, is func(*T) bool) *T {
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// Names returns the names of the attributes.
func (b *Block) Names() []string {
	var list []string
	for _, a := range b.Attributes {
		list = append(list, a.Name)
	}
	return list
}

// Types returns the types of the inner blocks, sorted.
func (b *Block) Types() []string {
	var list []string
	for _, inner := range b.Blocks {
		list = append(list, inner.Type)
	}
	slices.Sort(list)
	return list
}

// FirstLabels returns the first labels of the kinds, sorted.
func (b *Block) FirstLabels() []string {
	var list []string
	for _, k := range b.Kinds {
		list = append(list, k.FirstLabel)
	}
	slices.Sort(list)
	return list
}

// Sorted returns blocks by their types and first labels, with those in them.
func Sorted(blocks []Block) []Block {
	list := append([]Block{}, blocks...)
	for i, b := range list {
		list[i].Attributes = append([]Attribute{}, b.Attributes...)
		list[i].Kinds, list[i].Blocks = Sorted(b.Kinds), Sorted(b.Blocks)
	}
	slices.SortFunc(list, func(a, b Block) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.FirstLabel, b.FirstLabel))
	})
	return list
}
