package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/usage"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
)

// lastEvents is how many events fit on a screen with the rest.
const lastEvents = 10

func showCommand(a *app) *cobra.Command {
	var detail string
	c := &cobra.Command{
		Use:     "show ADDR | PLANFILE",
		Aliases: []string{"describe", "inspect"},
		Short:   "Show one session in full, or a saved plan",
		Long: `Shows one session in full: its state and activity, ids, last events, the end of its screen,
and the commands to inspect it manually. A saved plan is shown as plan does.`,
		Example: `  agentform show api
  agentform show --json 'worker["web"]'
  agentform show api.plan`,
		RunE: func(c *cobra.Command, args []string) error { return runShow(c.Context(), a, args[0], detail) },
	}
	c.Flags().StringVar(&detail, "detail", "changes", "of a saved plan: changes, full")
	completeFlag(c, "detail", words("changes", "full"))
	outputFlag(a, c)
	return c
}

// runShow shows the saved plan in a file of that name, else a session.
func runShow(ctx context.Context, a *app, typed, detail string) error {
	var noPlan error // why the file of that name is none; nil: there is no such file
	if info, err := os.Stat(a.Absolute(typed)); err == nil && info.Mode().IsRegular() {
		p, err := reconcile.Read(a.Absolute(typed), typed)
		if err == nil {
			return showPlan(a, p, detail, nil)
		}
		noPlan = err // any file may have a session's name
	}
	p, e, err := openObserver(a)
	if err != nil {
		return cmp.Or(noPlan, err)
	}
	usage.Ask(ctx, p, e)
	s, err := e.Look(ctx)
	if err != nil {
		return cmp.Or(noPlan, err)
	}
	address, err := choose.One(declaredIn(p, s), typed)
	if err != nil && noPlan != nil {
		return noPlan
	}
	if err != nil {
		return fmt.Errorf("%w\n(nor is there a file %s with a saved plan)", err, typed)
	}
	k := s.Of(address)
	if k.Record != nil {
		e.Recount(ctx, s, k)
		k = s.Of(address)
	}
	x := status.Detail{Session: status.Of(k), Record: k.Record, Events: history.InOrder(k.Events)[max(0, len(k.Events)-lastEvents):]}
	if k.Live != nil {
		x.Screen = k.Live.Screen
	} else if k.Record != nil {
		x.Exit = p.Facts(k.Record.Run.ID).Exit
	}
	if a.JSON {
		return wire.Write(a.Out, x.Document())
	}
	return view.Show(a.Out, a.OutStyle(), x, time.Now())
}
