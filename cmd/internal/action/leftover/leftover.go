// Package leftover removes what is left of a project's sessions.
package leftover

import (
	"context"
	"errors"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/prune"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Find finds what is left of sessions, with merged including branches.
func Find(ctx context.Context, p *project.Project, s state.State, merged bool) ([]prune.Leftover, error) {
	socket, err := p.HubSocket()
	if err != nil {
		return nil, err
	}
	r := p.Reconciler(project.ToRead)
	repo := ""
	if co := git.Look(p.Manifest.Root); co.Git {
		repo = p.Manifest.Root
	}
	var runtimes []session.RuntimeSpec
	for _, x := range p.Manifest.Sessions {
		runtimes = append(runtimes, x.Runtime)
	}
	return prune.Find(ctx, prune.Input{Merged: merged, Repo: repo, Runtimes: runtimes,
		DataDir: p.Manifest.DataDir, HubSocket: socket, Records: s.Sessions, Launched: p.Launched,
		Runtime: func(spec session.RuntimeSpec) (session.Runtime, error) { return r.Opened(s.Lineage, spec) },
	})
}

// Remove removes what was approved and still exists.
func Remove(ctx context.Context, p *project.Project, approved []prune.Leftover, merged bool) (_ []prune.Leftover, err error) {
	store, err := p.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	found, err := Find(ctx, p, store.State(), merged)
	if err == nil {
		prune.Apply(ctx, found, approved)
	}
	return found, err
}
