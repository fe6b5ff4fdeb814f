package language

import (
	"slices"
	"strings"
	"sync"

	"github.com/agentform/agentform/session"
)

// Compared is a value that plans compare, with its path as ignore_changes names it.
type Compared struct {
	Path, Forces string
	Field        Field
}

// AllCompared returns every value that plans compare, in the order of the table.
func AllCompared() []Compared {
	agent := *AgentBlock()
	agent.Blocks = []Block{*agent.Block("patterns")} // the others are those of its sessions
	all := Block{Blocks: []Block{agent, secret(), telemetry(), *RuntimeBlock()}}
	return append(compared("", *SessionBlock()), compared("", all)...)
}

func compared(prefix string, b Block) (all []Compared) {
	if b.Field != nil {
		return []Compared{{strings.TrimSuffix(prefix, "."), b.Forces, b.Field}}
	}
	for _, a := range b.Attributes {
		if a.Field != nil && a.Forces != "" {
			all = append(all, Compared{prefix + a.Name, a.Forces, a.Field})
		}
		for _, part := range a.Parts {
			all = append(all, Compared{prefix + a.Name + "." + part.Name, a.Forces, part.Field})
		}
	}
	for _, inner := range b.Blocks {
		all = append(all, compared(prefix+inner.Type+".", inner)...)
	}
	for _, kind := range b.Kinds {
		all = append(all, compared(prefix+kind.FirstLabel+".", kind)...)
	}
	return all
}

// Ignorable returns what ignore_changes can name: what plans compare, and the blocks around it.
var Ignorable = sync.OnceValue(func() []string {
	var paths []string
	for _, c := range AllCompared() {
		if strings.HasPrefix(c.Path, "lifecycle.") {
			continue
		}
		for i := range c.Path {
			if c.Path[i] == '.' {
				paths = append(paths, c.Path[:i])
			}
		}
		paths = append(paths, c.Path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
})

func docker(s *session.Spec) *session.DockerConfig {
	if s.Runtime.Docker == nil {
		return &session.DockerConfig{}
	}
	return s.Runtime.Docker
}

func kubernetes(s *session.Spec) *session.KubernetesConfig {
	if s.Runtime.Kubernetes == nil {
		return &session.KubernetesConfig{}
	}
	return s.Runtime.Kubernetes
}
