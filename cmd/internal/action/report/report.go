// Package report reports what became of sessions.
package report

import (
	"context"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/usage"
	"github.com/agentform/agentform/cmd/internal/action/watch"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/report"
	"github.com/agentform/agentform/session"
)

// Document returns the report of the sessions of the typed addresses, or of all, since a time. now is its
// end, in local time.
func Document(ctx context.Context, p *project.Project, e *fleet.Observer, typed []string, since time.Time) (d api.Report, now time.Time, err error) {
	e.Count()
	usage.Ask(ctx, p, e)
	s, err := e.Look(ctx)
	if err != nil {
		return d, now, err
	}
	now = s.World.At.Local()
	in := report.Input{Project: p.Manifest.Project, Since: since, Until: now, Supervisor: watch.Supervisor(s)}
	in.Sessions, in.Unread = project.Reported(p, e.WithHistories(s), e.Usage, since)
	if len(typed) > 0 {
		known := choose.Addresses(p.Manifest.Sessions, s.State.Sessions)
		for _, k := range in.Sessions {
			known = append(known, k.Address())
		}
		slices.SortFunc(known, session.Address.Compare)
		named, err := choose.All(slices.Compact(known), typed)
		if err != nil {
			return d, now, err
		}
		in.Sessions = slices.DeleteFunc(in.Sessions, func(k report.Known) bool { return !slices.Contains(named, k.Address()) })
	}
	return report.Of(in), now, nil
}
