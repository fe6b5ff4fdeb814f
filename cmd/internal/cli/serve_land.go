package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// lander returns what lands work for the hub's API, as agentform land --keep does: one
// session at a time.
func lander(a *app) server.Lander {
	var one sync.Mutex
	return func(ctx context.Context, address session.Address, o api.LandOptions) (api.LandDocument, error) {
		one.Lock()
		defer one.Unlock()
		d := api.LandDocument{Format: api.FormatVersion, DryRun: o.DryRun}
		p, _, err := a.openState()
		if err != nil {
			return d, err
		}
		l, err := newLander(ctx, a, p, address)
		if err != nil {
			return d, &land.Refusal{Why: err.Error()}
		}
		q := land.Request{Method: cmp.Or(land.Method(o.Method), land.Merge), Commit: strings.TrimSpace(o.Commit), Message: o.Message, Into: o.Into, Verify: true, Unverified: o.Unverified}
		var done land.Landed
		if o.DryRun {
			f, steps, decided := decideLanding(ctx, l, q)
			done, err = wouldBe(f, steps, q.Method), decided
		} else {
			done, err = l.Land(ctx, q, func(land.Step) {})
			recordLanding(ctx, a, p, l.Record, done, false)
		}
		if err != nil {
			return d, fmt.Errorf("land %s: %w", address, err)
		}
		d.Result = landed(done)
		return d, nil
	}
}

func landed(d land.Landed) api.Landed {
	x := api.Landed{Address: d.Address, Branch: d.Branch, Commit: d.Commit, Base: d.Base, Method: string(d.Method), Done: d.Done, Already: d.Already,
		Commits: d.Commits, From: d.From, To: d.To, Moved: d.Moved, Remote: d.Remote, URL: d.URL, Open: d.Open, Note: d.Note}
	for _, s := range d.Steps {
		x.Steps = append(x.Steps, api.LandStep(s))
	}
	x.Steps = wire.List(x.Steps)
	return x
}
