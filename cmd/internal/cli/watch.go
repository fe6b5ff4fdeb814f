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
	return f.follow(ctx, o.every, 0, func(g observation) (bool, error) {
		// An agent that reports done or failed may continue.
		over := !slices.ContainsFunc(g.sights, func(s follow.Sight) bool { return !s.Over() })
		return over, errors.Join(show(g), ring(g.at, follow.Needs(g.sights)))
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
	var first time.Time
	known := map[follow.Need]bool{}
	return func(at time.Time, needs []follow.Need) error {
		if first.IsZero() {
			first = at
		}
		rings := false
		now := map[follow.Need]bool{}
		for _, n := range needs {
			now[n] = true
			rings = rings || !known[n] && n.Since.After(first)
		}
		if known = now; !rings {
			return nil
		}
		_, err := io.WriteString(w, "\a")
		return err
	}
}

func newPrinter(a *app, wide bool) (func(observation) error, error) {
	if a.JSON {
		lines, err := view.NewLines(a.Out, a.Version, time.Now)
		return printChanges(a, func(steps []view.Step, _ observation) error {
			for _, s := range steps {
				if err := lines.Step(s); err != nil {
					return err
				}
			}
			return nil
		}), err
	}
	if style := a.OutStyle(); style.Width == 0 {
		return printChanges(a, func(steps []view.Step, g observation) error {
			wide := 0
			for _, x := range g.sessions {
				wide = max(wide, len(x.Address))
			}
			return view.StepLines(a.Out, style, steps, wide)
		}), nil
	}
	region := view.NewRegion(a.Out)
	return func(g observation) error {
		var table strings.Builder
		style := a.OutStyle() // the terminal may have another size by now
		if err := view.Status(&table, style, g.sessions, wide, time.Now()); err != nil {
			return err
		}
		return region.Draw(table.String(), style.Width, style.Rows)
	}, nil
}

func printChanges(a *app, show func([]view.Step, observation) error) func(observation) error {
	var old []api.Session
	return func(g observation) error {
		steps := view.Steps(old, g.sessions, g.at.Local())
		old = g.sessions
		return show(steps, g)
	}
}
