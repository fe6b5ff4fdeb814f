package cli

import (
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
)

// request is what the manifest asks for: its sessions, and what it says about
// addresses.
func (p *project) request(o plan.Options) engine.Request {
	m := p.manifest
	q := engine.Request{Wanted: m.Sessions, Options: o}
	for _, x := range m.Moves {
		q.Moves = append(q.Moves, plan.Move{From: x.From, To: x.To})
	}
	for _, x := range m.Removed {
		q.Removed = append(q.Removed, plan.Removal{From: x.From, Destroy: x.Destroy})
	}
	for _, x := range m.Imports {
		q.Imports = append(q.Imports, plan.Import{To: x.To, ID: x.ID})
	}
	return q
}

// again is the request that a plan was made for.
func again(made plan.Plan) engine.Request {
	return engine.Request{Wanted: made.Wanted(), Options: made.Options,
		Moves: made.Moves, Removed: made.Removed, Imports: made.Imports}
}
