// Package services lists the tmux servers and containers of a project.
package services

import (
	"context"
	"slices"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/usage"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// Of returns the services in a look, including sessions that are not in the state.
func Of(ctx context.Context, p *project.Project, s *fleet.Snapshot) []status.Service {
	lives := append(s.World.Lives, inOtherEngines(ctx, p, s.World)...)
	recorded := map[string]bool{}
	for _, r := range s.State.Sessions {
		recorded[r.ID] = true
	}
	var orphans []session.Live
	for _, l := range lives {
		if !l.Foreign && (l.Copied || !recorded[l.Mark.ID]) {
			orphans = append(orphans, l)
		}
	}
	return status.ServicesOf(s.Known, orphans, hubStatus(ctx, p, s))
}

// hubStatus asks the hub if something is unknown here.
func hubStatus(ctx context.Context, p *project.Project, s *fleet.Snapshot) *api.StatusDocument {
	unknown := func(k status.Input) bool { return k.Diagnosis.State == session.StateUnknown }
	if !s.Supervised || !slices.ContainsFunc(s.Known, unknown) {
		return nil
	}
	if hub.Suspended(s.Holder) {
		p.Log.Warn("the hub does not answer", "error", hub.Continue(s.Holder))
		return nil
	}
	path, err := p.HubSocket()
	if err != nil {
		return nil
	}
	client := api.Dial(path)
	defer client.Close()
	ctx, done := context.WithTimeout(ctx, usage.HubTimeout)
	defer done()
	d, err := client.Sessions(ctx)
	if err != nil {
		p.Log.Warn("the hub does not answer", "error", err)
		return nil
	}
	return &d
}

func inOtherEngines(ctx context.Context, p *project.Project, seen session.World) (lives []session.Live) {
	asked, reconciler := map[string]bool{}, p.Reconciler(project.ToRead)
	for _, s := range p.Manifest.Sessions {
		engine := s.Runtime.Engine()
		if _, is := seen.Runtimes[engine]; is || asked[engine] {
			continue
		}
		asked[engine] = true
		rt, err := reconciler.For(s)
		if err == nil {
			var found []session.Live
			found, err = rt.Observe(ctx, false)
			lives = append(lives, found...)
		}
		if err != nil {
			p.Log.Debug("find running sessions that are not in the state", "engine", engine, "error", err)
		}
	}
	return lives
}
