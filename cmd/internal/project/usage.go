package project

import (
	"time"

	"github.com/agentform/agentform/internal/price"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// Prices returns the prices that the project computes with.
func Prices(p *Project) price.List { return price.BuiltIn().With(p.Manifest.Prices) }

// Usage returns the store of what the project's sessions used.
func Usage(p *Project) *usage.Store { return usage.New(p.Manifest.DataDir, Prices(p).Cost) }

// lastUsage records what a run used whose agent has ended, as its conversation may not be
// known for much longer.
func lastUsage(p *Project, r session.Record) {
	reader, now := p.Activity(), time.Now()
	if err := Usage(p).Look(reader.Agent(r), r, reader.Read(r, nil, time.Time{}, now).Transcript, now); err != nil {
		p.Log.Warn("usage cannot be recorded", "session", r.Address, "error", err)
	}
}
