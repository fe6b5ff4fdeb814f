package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/report"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/wire"
)

func reportCommand(a *app) *cobra.Command {
	var since string
	c := &cobra.Command{
		Use:   "report [ADDR...]",
		Short: "Show what became of the sessions in the last hours",
		Long: `Shows for each session what it was asked, what became of it, what it used, what it waited
for and for how long, and how often its agent was restarted; also for sessions that were
removed. Below the table are the sessions that need attention, in the order of agentform
next, and the names of those in which nothing happened.

RESULT is how far its workspace is from its base, as CHANGES of agentform status, whether
its work is verified and landed, and its pull request. COST is the list price of what it
used since then (agentform usage). WAITED is for an answer, input or the end of a pause
(you), a limit (the model's provider), a place (max_running), a dependency, a budget, a
restart or a secret. The longest wait is first.

report starts nothing and asks no model. What happened while no hub was running is known
only as far as a command inspected the sessions.`,
		Example: `  agentform report
  agentform report worker --since 2d
  agentform report --since 2026-11-01 --format markdown
  agentform report --json`,
	}
	c.Flags().StringVar(&since, "since", "18h", "start at this `time`: a duration ago such as 18h, or a date such as 2026-11-01")
	format := formatFlag(a, c, "text", "markdown", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		from, err := flags.Since(since, time.Now())
		if err != nil {
			return exit.Usage(c.CommandPath(), err)
		}
		return runReport(c.Context(), a, args, from, *format)
	}
	return c
}

func runReport(ctx context.Context, a *app, typed []string, since time.Time, format string) error {
	p, e, err := openObserver(a)
	if err != nil {
		return err
	}
	d, now, err := report.Document(ctx, p, e, typed, since)
	if err != nil {
		return err
	}
	switch format {
	case "json":
		return wire.Write(a.Out, d)
	case "markdown":
		return view.ReportMarkdown(a.Out, d, now)
	default:
		return view.Report(a.Out, a.OutStyle(), d, now)
	}
}
