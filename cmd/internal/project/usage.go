package project

import (
	"slices"
	"time"

	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/price"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// Prices returns the project's prices.
func Prices(p *Project) price.List { return price.BuiltIn().With(p.Manifest.Prices) }

// Usage returns the store of the usage of the project's sessions.
func Usage(p *Project) *usage.Store { return usage.New(p.Manifest.DataDir, Prices(p).Cost) }

// lastUsage records the usage of a run whose agent has ended, since its conversation may soon be
// unknown.
func lastUsage(p *Project, r session.Record) {
	reader, now := p.Activity(), time.Now()
	if err := Usage(p).Look(reader.Agent(r), r, reader.Read(r, nil, time.Time{}, now).Transcript, now); err != nil {
		p.Log.Warn("usage cannot be recorded", "session", r.Address, "error", err)
	}
}

// UnpricedBudgets returns warnings about budgets with a cost that lacks some tokens of the
// sessions' models.
func UnpricedBudgets(p *Project, records []session.Record, now time.Time) []session.Diagnostic {
	if !slices.ContainsFunc(p.Manifest.Budgets, func(b budget.Budget) bool { return b.Cost > 0 }) {
		return nil
	}
	all, err := Usage(p).All()
	if err != nil {
		return nil // agentform usage reports it
	}
	used := make(map[string]usage.Session, len(all))
	for _, x := range all {
		used[x.ID] = x
	}
	subjects := budget.Subjects(records, used)
	var found []session.Diagnostic
	for _, s := range budget.Standings(p.Manifest.Budgets, subjects, now) {
		if text := s.Unpriced(subjects); text != "" {
			found = append(found, session.Diagnostic{Severity: session.Warning, Summary: "a budget cannot count what was used", Detail: text})
		}
	}
	return found
}
