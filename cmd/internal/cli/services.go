package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

func servicesCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "services",
		Short: "List tmux servers and containers",
		Long: `Lists the tmux servers and containers of the project, whether they run, and the state of
their sessions, including sessions that are not in the state. Stopped sessions and those
that were never started come last. A running container whose session has exited is stale:
agentform restart starts the session again in the same container. If a server cannot be
reached, its sessions are unknown; a running hub is asked about them.`,
		Example: "  agentform services\n  agentform services --json",
		RunE:    func(c *cobra.Command, _ []string) error { return runServices(c.Context(), a) },
	}
	outputFlag(a, c)
	return c
}

func runServices(ctx context.Context, a *app) error {
	p, s, err := observe(ctx, a)
	if err != nil {
		return err
	}
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
	all := status.ServicesOf(s.Known, orphans, hubStatus(ctx, a, p, s))
	if a.JSON {
		return view.ServicesJSON(a.Out, all)
	}
	return view.Services(a.Out, a.OutStyle(), all)
}

// hubStatus asks the hub where something is unknown here.
func hubStatus(ctx context.Context, a *app, p *project.Project, s *fleet.Snapshot) *api.StatusDocument {
	unknown := func(k status.Input) bool { return k.Diagnosis.State == session.StateUnknown }
	if !s.Supervised || !slices.ContainsFunc(s.Known, unknown) {
		return nil
	}
	if supervisor(s) == api.HubSuspended {
		a.Log.Warn("the hub does not answer", "error", hub.Continue(s.Holder))
		return nil
	}
	path, err := p.HubSocket()
	if err != nil {
		return nil
	}
	client := api.Dial(path)
	defer client.Close()
	ctx, done := context.WithTimeout(ctx, hubTimeout)
	defer done()
	d, err := client.Sessions(ctx)
	if err != nil {
		a.Log.Warn("the hub does not answer", "error", err)
		return nil
	}
	return &d
}

const hubTimeout = 3 * time.Second

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
