package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/events"
	"github.com/agentform/agentform/cmd/internal/action/logs"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
)

func eventsCommand(a *app) *cobra.Command {
	var follow bool
	var since time.Duration
	var tail logs.Tail
	c := &cobra.Command{
		Use:   "events [ADDR]",
		Short: "Show the event history",
		Long: `Prints the history of a session, or of all sessions in the state: what was done, by whom and
why. The history of destroyed sessions remains available by address.`,
		Example: `  agentform events api
  agentform events --since 1h
  agentform events -n 20
  agentform events -f --json`,
		RunE: func(c *cobra.Command, args []string) error {
			from := time.Time{}
			if since > 0 {
				from = time.Now().Add(-since)
			}
			if err := checkTail(tail); err != nil {
				return exit.Usage(c.CommandPath(), err)
			}
			run := func() error { return runEvents(c.Context(), a, args, from, tail, follow) }
			if follow {
				return run()
			}
			return a.Paged(run)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow new events")
	fileWithoutShorthand(a, c)
	flags.Duration(c.Flags(), &since, "since", 0, "only events newer than this, such as 90m")
	tailFlag(c, &tail, "events")
	return c
}

func runEvents(ctx context.Context, a *app, typed []string, since time.Time, tail logs.Tail, follow bool) error {
	r := events.Reader{Typed: typed, Since: since, Open: a.State, Log: a.Log}
	past, err := r.All()
	if err != nil {
		return err
	}
	if err := printEvents(a, logs.Last(tail, past)); err != nil || !follow {
		return err
	}
	return streams.Poll(ctx, func() error {
		if streams.ReaderGone(a.Out) {
			return exit.Done
		}
		added, err := r.Added()
		if err != nil {
			return err
		}
		return printEvents(a, added)
	})
}

func printEvents(a *app, all []history.Event) error {
	if a.JSON {
		return view.EventsJSON(a.Out, all)
	}
	return view.Events(a.Out, a.OutStyle(), all, time.Now())
}
