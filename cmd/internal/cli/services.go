package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/services"
	"github.com/agentform/agentform/cmd/internal/view"
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
	all := services.Of(ctx, p, s)
	if a.JSON {
		return view.ServicesJSON(a.Out, all)
	}
	return view.Services(a.Out, a.OutStyle(), all)
}
