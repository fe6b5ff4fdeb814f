// Package usage sums the usage of sessions.
package usage

import (
	"context"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// HubTimeout bounds a running hub's answer.
const HubTimeout = 3 * time.Second

// Document returns the usage of sessions, including removed ones: those of the typed addresses, or
// all.
func Document(ctx context.Context, p *project.Project, e *fleet.Observer, q status.UsageQuery, typed []string) (d api.UsageDocument, err error) {
	e.Usage = project.Usage(p)
	s, err := e.Look(ctx)
	if err != nil {
		return d, err
	}
	all, err := e.Usage.All()
	if err != nil {
		return d, err
	}
	status.CurrentAddresses(all, s.State.Sessions)
	if len(typed) > 0 {
		named, err := choose.All(withUsage(choose.Addresses(p.Manifest.Sessions, s.State.Sessions), all), typed)
		if err != nil {
			return d, err
		}
		q.Only = func(a session.Address) bool { return slices.Contains(named, a) }
	}
	used := make(map[string]usage.Session, len(all))
	for _, x := range all {
		used[x.ID] = x
	}
	q.Budgets = budget.Standings(p.Manifest.Budgets, budget.Subjects(s.State.Sessions, used), s.World.At)
	return status.UsageDocumentOf(all, q), nil
}

// withUsage adds the addresses of removed sessions with usage.
func withUsage(known []session.Address, all []usage.Session) []session.Address {
	for _, s := range all {
		known = append(known, s.Address)
	}
	slices.SortFunc(known, session.Address.Compare)
	return slices.Compact(known)
}

// Ask makes looks use the usage known to a running hub, without reading files. Without a hub they
// read the files.
func Ask(ctx context.Context, p *project.Project, e *fleet.Observer) {
	e.Usage = project.Usage(p)
	holder, runs := e.Supervisor()
	path, err := p.HubSocket()
	if !runs || hub.Suspended(holder) || err != nil {
		return
	}
	client := api.Dial(path)
	defer client.Close()
	ctx, done := context.WithTimeout(ctx, HubTimeout)
	defer done()
	d, err := client.Sessions(ctx)
	if err != nil {
		e.Log.Debug("the hub does not say what the sessions used", "error", err)
		return
	}
	e.Used = map[string]usage.Sum{}
	for _, x := range d.Sessions {
		if u := x.Usage; u != nil {
			sum := usage.Sum{Answers: u.Answers, Tokens: u.Tokens, Unpriced: u.Unpriced}
			if u.Cost != nil {
				sum.Cost = *u.Cost
			}
			e.Used[x.ID] = sum
		}
	}
}
