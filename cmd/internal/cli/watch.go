package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/watch"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/follow"
)

type watchOptions struct {
	every      time.Duration
	wide, bell bool
}

func watchCommand(a *app) *cobra.Command {
	var o watchOptions
	c := &cobra.Command{
		Use:   "watch [ADDR...]",
		Short: "Show a live status table",
		Long: `Shows a live status table until all sessions are done, failed, exited or stopped. Elsewhere
than on a terminal, and with --json, it prints a line for each change. The table is that of
status. --bell rings the terminal when a session comes to need attention, as agentform next
has it.

It refreshes every second, or as set with --interval; 0 refreshes continuously, on each
change. Each refresh takes two tmux calls. The manifest is read once.`,
		Example: `  agentform watch
  agentform watch --bell
  agentform watch api 'worker["web"]' --interval 5s
  agentform watch --json | jq -r 'select(.new.status == "blocked") | .address'`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.every < 0 {
				return exit.Usage(c.CommandPath(), errors.New("--interval: must be 0 or more"))
			}
			return runWatch(c.Context(), a, args, o)
		},
	}
	c.Flags().BoolVar(&o.bell, "bell", false, "ring the terminal when a session comes to need attention")
	c.Flags().BoolVar(&o.wide, "wide", false, "also show state and activity")
	flags.Duration(c.Flags(), &o.every, "interval", time.Second, "refresh interval, such as 5s; 0: on every change")
	return c
}

func runWatch(ctx context.Context, a *app, typed []string, o watchOptions) error {
	f, err := openSelection(a, named(typed))
	if err != nil {
		return err
	}
	f.CountInBackground()
	show, err := newPrinter(a, o.wide)
	if err != nil {
		return err
	}
	if o.every == 0 {
		o.every = streams.PollInterval
	}
	ring := bell(a, o.bell)
	return followSessions(ctx, f, o.every, 0, func(g watch.Observation) (bool, error) {
		// An agent that reports done or failed may continue.
		over := !slices.ContainsFunc(g.Sights, func(s follow.Sight) bool { return !s.Over() })
		return over, errors.Join(show(g), ring(g.At, follow.Needs(g.Sights)))
	})
}

// bell returns what rings the terminal when a session comes to need attention after the
// first look.
func bell(a *app, wanted bool) func(time.Time, []follow.Need) error {
	var w io.Writer = io.Discard
	switch {
	case !wanted:
	case streams.IsTerminal(a.Out):
		w = a.Out
	case streams.IsTerminal(a.Err):
		w = a.Err
	}
	var b watch.Bell
	return func(at time.Time, needs []follow.Need) (err error) {
		if b.Rings(at, needs) {
			_, err = io.WriteString(w, "\a")
		}
		return err
	}
}

func newPrinter(a *app, wide bool) (func(watch.Observation) error, error) {
	if a.JSON {
		lines, err := view.NewLines(a.Out, a.Version, time.Now)
		return printChanges(a, func(steps []view.Step, _ watch.Observation) error {
			for _, s := range steps {
				if err := lines.Step(s); err != nil {
					return err
				}
			}
			return nil
		}), err
	}
	if style := a.OutStyle(); style.Width == 0 {
		return printChanges(a, func(steps []view.Step, g watch.Observation) error {
			wide := 0
			for _, x := range g.Sessions {
				wide = max(wide, len(x.Address))
			}
			return view.StepLines(a.Out, style, steps, wide)
		}), nil
	}
	region := view.NewRegion(a.Out)
	return func(g watch.Observation) error {
		var table strings.Builder
		style := a.OutStyle() // the terminal may have another size by now
		if err := view.Status(&table, style, g.Sessions, wide, time.Now()); err != nil {
			return err
		}
		return region.Draw(table.String(), style.Width, style.Rows)
	}, nil
}

func printChanges(a *app, show func([]view.Step, watch.Observation) error) func(watch.Observation) error {
	var old []api.Session
	return func(g watch.Observation) error {
		steps := view.Steps(old, g.Sessions, g.At.Local())
		old = g.Sessions
		return show(steps, g)
	}
}
