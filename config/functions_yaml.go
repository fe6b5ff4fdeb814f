package config

import (
	"strings"

	"github.com/zclconf/go-cty/cty"
	"go.yaml.in/yaml/v3"
)

// decodedYAML is what a YAML document holds once each of its aliases stands for
// what it means: a few lines of aliases of aliases may come to more than any
// machine has.
func decodedYAML(args []cty.Value) (bulk, error) {
	text := textAt(args, 0)
	if b := (bulk{elements: strings.Count(text, "\n") / 4, text: len(text)}); b.tooMuch() {
		return b, nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return bulk{}, nil // which the function says
	}
	return (&yamlSize{of: map[*yaml.Node]bulk{}, depths: map[*yaml.Node]int{}}).measure(&document), nil
}

// yamlSize measures nodes, each once, however often it is referred to.
type yamlSize struct {
	of     map[*yaml.Node]bulk
	depths map[*yaml.Node]int
}

func (s *yamlSize) measure(n *yaml.Node) bulk {
	if held, ok := s.of[n]; ok {
		return held
	}
	s.of[n] = bulk{} // an alias of what it stands in is refused by the function
	held := bulk{elements: len(n.Content), text: len(n.Value)}
	below := n.Content
	if n.Alias != nil {
		held, below = bulk{}, []*yaml.Node{n.Alias}
	}
	for _, c := range below {
		part := s.measure(c)
		held = held.plus(part)
		held.elements, held.text = min(held.elements, maxElements+1), min(held.text, maxText+1)
		s.depths[n] = max(s.depths[n], s.depths[c]+1)
	}
	held.deep = held.deep || s.depths[n] > maxDepth
	s.of[n] = held
	return held
}
