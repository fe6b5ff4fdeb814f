package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/adopt"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

func adoptCommand(a *app) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use:   "adopt [ADDR ID]",
		Short: "Bring a running tmux session or container under management",
		Long: `Brings a running tmux session or container under management without interrupting it. From
then on it is inspected, stopped and restarted like any other session. Nothing else on its
tmux server is touched.

Without arguments it lists the sessions of your tmux servers (plain tmux and tmux -L) in
which an agent runs, found by its processes, and changes nothing. --all adopts those that
can be adopted, each under an address made from its tmux session's name.

ID is ` + tmux.IDForm + `,
docker:CONTAINER or kubernetes:NAMESPACE/NAME. The part after the last slash is the name of
the tmux session. A container must be declared in the manifest, with its image. In a cluster
only sessions of agentform can be adopted, by the name of their StatefulSet or pod.

If the manifest declares ADDR, the session becomes that one; it must work in the declared
workspace, on the declared branch. Otherwise its program, checkout and branch are
detected; an agent that works in a directory of a checkout starts at its top when it is
restarted. Adopted sessions are never destroyed for missing from the manifest.

A managed session that was removed from the state (see state rm) is adopted by its own
address. An import block in a manifest does the same with apply; init --from-tmux writes
them.`,
		Example: `  agentform adopt
  agentform adopt --all
  agentform adopt api tmux:default/work
  agentform adopt 'worker["web"]' tmux:/tmp/tmux-1000/mine/web
  agentform adopt api docker:old-one
  agentform adopt api kubernetes:agents/shop-api-5e897c`,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return exit.Usage(c.CommandPath(), errors.New("--all adopts every session that is listed: give it no address"))
			case len(args) == 1:
				return exit.Usage(c.CommandPath(), errors.New("missing argument: agentform adopt ADDR ID"))
			}
			return flags.Arguments(0, 2)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case all:
				return runAdoptAll(c.Context(), a)
			case len(args) == 0:
				return runAdoptList(c.Context(), a)
			}
			return runAdopt(c.Context(), a, args[0], args[1])
		},
	}
	c.Flags().BoolVar(&all, "all", false, "adopt all sessions in which an agent runs")
	return c
}

func runAdopt(ctx context.Context, a *app, typed, id string) error {
	p, s, err := a.Optional()
	if err != nil {
		return err
	}
	address, err := choose.New(typed)
	if err != nil {
		return err
	}
	x, err := adopt.Plan(ctx, p, s, address, id)
	if err != nil {
		return err
	}
	t, err := newReporter(a, "Adopt")
	if err != nil {
		return err
	}
	return applyOnly(ctx, a, t, x, reconcile.Run{Origin: session.FromAdopt})
}
