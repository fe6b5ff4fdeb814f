package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/language"
	"github.com/agentform/agentform/internal/plaintext"
)

// Schema is the language of manifests.
type Schema struct{ config.NativeSchema }

// Topic is the target of a path: a block, or an attribute of the innermost block.
type Topic struct {
	Path      string
	Blocks    []language.Block // from the outermost one
	Attribute *language.Attribute
}

// Read returns the schema.
func Read() Schema { return Schema{config.Language()} }

// Topics returns every topic, a block before what is in it.
func (s Schema) Topics() (all []Topic) {
	for _, b := range s.Blocks {
		all = append(all, topics(Topic{Path: b.Type, Blocks: []language.Block{b}})...)
	}
	return all
}

func topics(t Topic) []Topic {
	all, b := []Topic{t}, t.block()
	for _, a := range b.Attributes {
		all = append(all, Topic{Path: t.Path + "." + a.Name, Blocks: t.Blocks, Attribute: &a})
	}
	inner := func(name string, c language.Block) {
		all = append(all, topics(Topic{Path: t.Path + "." + name, Blocks: append(slices.Clone(t.Blocks), c)})...)
	}
	for _, c := range b.Blocks {
		inner(c.Type, c)
	}
	for _, k := range b.Kinds {
		inner(k.FirstLabel, k)
	}
	return all
}

func (t Topic) block() language.Block { return t.Blocks[len(t.Blocks)-1] }

// Find returns the topic with a path, such as session.restart.backoff.
func (s Schema) Find(path string) (Topic, error) {
	all := s.Topics()
	i := slices.IndexFunc(all, func(t Topic) bool { return t.Path == path })
	if i >= 0 {
		return all[i], nil
	}
	err := fmt.Errorf("%q is not a block or attribute of the manifest", path)
	if near := suggestions(all, strings.Join(strings.Fields(path), ".")); len(near) > 0 {
		return Topic{}, fmt.Errorf("%w. Did you mean %s?", err, plaintext.List(near, "or"))
	}
	return Topic{}, fmt.Errorf("%w\nagentform explain lists them", err)
}

// suggestions returns the paths with the typed ending, perhaps with blocks in between, or else
// those with the fewest edits.
func suggestions(all []Topic, typed string) (near []string) {
	const most = 4
	typed = strings.ToLower(typed)
	least := 1 + len(typed)/5 // edits; more means another path
	var ends []string
	first, rest, nested := strings.Cut(typed, ".")
	for _, t := range all {
		if strings.HasSuffix(t.Path, "."+typed) || nested && strings.HasPrefix(t.Path, first+".") && strings.HasSuffix(t.Path, "."+rest) {
			ends = append(ends, t.Path)
		}
		switch d := levenshtein.Distance(t.Path, typed, nil); {
		case d < least:
			least, near = d, []string{t.Path}
		case d == least:
			near = append(near, t.Path)
		}
	}
	if len(ends) > 0 {
		near = ends
	}
	return near[:min(len(near), most)]
}

// Complete returns the blocks and attributes one level below the last dot of the typed text.
func (s Schema) Complete(typed string) (found []Topic) {
	for _, t := range s.Topics() {
		if strings.HasPrefix(t.Path, typed) && strings.Count(t.Path, ".") == strings.Count(typed, ".") {
			found = append(found, t)
		}
	}
	return found
}
