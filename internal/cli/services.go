package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/internal/view"
	"github.com/agentform/agentform/session"
)

func (a *app) servicesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "services",
		Short: "Show the places in which sessions live: tmux servers and containers",
		Long: `Shows each tmux server and each container of the project, whether it runs, and the
state of the sessions in it; also of those that are not on record. A container that runs
while the session in it is gone is stale: agentform restart starts the session again in
the same container. Where a place cannot be looked at, its sessions' state is unknown,
which is not dead.`,
		Example:     "  agentform services\n  agentform services --json",
		Args:        arguments(0, 0),
		Annotations: withJSON(),
		RunE:        func(c *cobra.Command, _ []string) error { return a.runServices(c.Context()) },
	}
}

func (a *app) runServices(ctx context.Context) error {
	s, err := a.look(ctx)
	if err != nil {
		return err
	}
	recorded := map[string]bool{}
	for _, r := range s.State.Sessions {
		recorded[r.ID] = true
	}
	var orphans []session.Live
	for _, l := range s.World.Lives {
		if !l.Foreign && !recorded[l.Mark.ID] {
			orphans = append(orphans, l)
		}
	}
	all := view.ServicesOf(s.known, orphans)
	if a.globals.json {
		return view.ServicesJSON(a.env.Stdout, all)
	}
	return view.Services(a.env.Stdout, a.out(), all)
}
