// Package generate writes the blocks of recorded sessions.
package generate

import (
	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Blocks returns the blocks of sessions. Its notes list what could not be written.
func Blocks(p *project.Project, drafts ...config.Draft) config.Generated {
	blobs := state.Blobs{Dir: layout.Data{Dir: p.Manifest.DataDir}.Blobs()}
	for i := range drafts {
		if prompt := &drafts[i].Spec.Prompt; prompt.Digest != "" && prompt.Text == "" {
			prompt.Text, _ = blobs.Get(prompt.Digest) // without a text the block ignores the prompt, with a note
		}
	}
	return p.Manifest.Generate(drafts, agent.Builtins())
}

// Undeclared returns the sessions that are in the state and not in the manifest.
func Undeclared(p *project.Project, made plan.Plan) []config.Draft {
	var drafts []config.Draft
	for _, c := range made.Changes {
		if c.Before == nil || c.After != nil || p.Declared(c.Address) != nil {
			continue
		}
		spec := c.Before.Declared()
		spec.Address = c.Address
		drafts = append(drafts, config.Draft{Spec: spec})
	}
	return drafts
}

// Recorded returns all sessions of a state.
func Recorded(s state.State) []config.Draft {
	var drafts []config.Draft
	for _, r := range s.Sessions {
		drafts = append(drafts, config.Draft{Spec: r.Declared()})
	}
	return drafts
}

// New returns the sessions without a block in the manifest, and the others.
func New(p *project.Project, drafts []config.Draft) (left []config.Draft, declared []session.Address) {
	blocks := map[string]bool{}
	for address := range p.Manifest.Ranges {
		blocks[address.Block()] = true
	}
	for _, d := range drafts {
		if blocks[d.Spec.Address.Block()] {
			declared = append(declared, d.Spec.Address)
		} else {
			left = append(left, d)
		}
	}
	return left, declared
}
