package status

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/price"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// UsageOf returns the document of a sum.
func UsageOf(s usage.Sum) api.Usage {
	u := api.Usage{Answers: s.Answers, Tokens: s.Tokens, Total: s.Tokens.Total(), Unpriced: s.Unpriced}
	if s.Unpriced < u.Total || u.Total == 0 {
		u.Cost = &s.Cost
	}
	return u
}

// The values of UsageQuery.By.
const (
	BySession = "session"
	ByAgent   = "agent"
	ByModel   = "model"
	ByDay     = "day"
)

// UsageBy are the values of UsageQuery.By.
func UsageBy() []string { return []string{BySession, ByAgent, ByModel, ByDay} }

// UsageQuery selects usage, and how it is summed.
type UsageQuery struct {
	By    string
	Since time.Time // zero: from the beginning
	// Only reports whether a session is meant; nil: all are.
	Only func(session.Address) bool
	Days *time.Location // in which days begin
	// Budgets are what was used of budgets.
	Budgets []budget.Standing
}

// CurrentAddresses gives the sessions on record the addresses that they have now: what they
// used is recorded with the address of then.
func CurrentAddresses(all []usage.Session, records []session.Record) {
	for i := range all {
		for _, r := range records {
			if r.ID == all[i].ID {
				all[i].Address = r.Address
			}
		}
	}
}

// UsageDocumentOf returns the sums of sessions' usage, the most expensive first, or days in order.
func UsageDocumentOf(all []usage.Session, q UsageQuery) api.UsageDocument {
	d := api.UsageDocument{Format: api.FormatVersion, By: q.By, Since: wire.UTCOrNil(q.Since), Currency: "USD",
		Prices: price.BuiltIn().Date, Rows: []api.UsageRow{}, Unpriced: []string{}, Budgets: []api.BudgetUse{}}
	sums := map[string]usage.Sum{}
	var total usage.Sum
	for _, s := range all {
		if q.Only != nil && !q.Only(s.Address) {
			continue
		}
		for slice, sum := range s.Slices {
			if !sum.Any() || slice.Start.Add(usage.SliceLength).Before(q.Since) || slice.Start.Add(usage.SliceLength).Equal(q.Since) {
				continue
			}
			name := map[string]string{BySession: string(s.Address), ByAgent: slice.Agent, ByModel: slice.Model, ByDay: slice.Start.In(q.Days).Format(time.DateOnly)}[q.By]
			sums[name] = sums[name].Plus(sum)
			total = total.Plus(sum)
			if sum.Unpriced > 0 && !slices.Contains(d.Unpriced, slice.Model) {
				d.Unpriced = append(d.Unpriced, slice.Model)
			}
		}
	}
	slices.Sort(d.Unpriced)
	names := slices.Sorted(maps.Keys(sums))
	if q.By != ByDay {
		slices.SortStableFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(sums[b].Cost, sums[a].Cost), cmp.Compare(sums[b].Tokens.Total(), sums[a].Tokens.Total()))
		})
	}
	for _, name := range names {
		d.Rows = append(d.Rows, api.UsageRow{Name: name, Usage: UsageOf(sums[name])})
	}
	d.Total = UsageOf(total)
	for _, s := range q.Budgets {
		d.Budgets = append(d.Budgets, api.BudgetUse{Name: s.Budget.Name, Session: s.Session, Share: s.Budget.Share(s.Used),
			Text: s.Budget.Text(s.Used), Begin: wire.UTCOrNil(s.Begin), End: wire.UTCOrNil(s.End)})
	}
	return d
}
