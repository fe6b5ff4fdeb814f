package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/view"
)

func captureCommand(a *app) *cobra.Command {
	var lines int
	var o sessionArgs
	c := &cobra.Command{
		Use:   "capture ADDR...",
		Short: "Print the screens of sessions",
		Long: `Prints a session's screen and recent scrollback as plain text, at most 48 KiB. For an
exited agent it prints the last screen. Of several sessions each screen is below the name of
its session.`,
		Example: `  agentform capture api
  agentform capture api --lines 20 --json
  agentform capture --role builder --lines 10`,
		RunE: func(c *cobra.Command, args []string) error {
			if lines < 1 {
				return exit.Usage(c.CommandPath(), errors.New("--lines: must be 1 or more"))
			}
			if err := o.set(c, args); err != nil {
				return err
			}
			return runCapture(c.Context(), a, &o, lines)
		},
	}
	c.Flags().IntVar(&lines, "lines", 100, "maximum number of lines of each session")
	o.register(a, c, "sessions")
	return c
}

func runCapture(ctx context.Context, a *app, o *sessionArgs, lines int) error {
	targets, err := openTargets(ctx, a, o)
	if err != nil {
		return err
	}
	if len(targets) == 0 && !a.JSON {
		noneRunning(a)
		return nil
	}
	tails := make([]view.Tail, len(targets))
	begun := a.Each(ctx, len(targets), a.Open().Parallelism, func(ctx context.Context, i int) {
		tails[i] = targets[i].Capture(ctx, lines)
	})
	return tailResults(a, "captured", len(targets), tails[:begun], !o.ByFlag() && len(o.Typed) == 1 && len(targets) == 1).end(a)
}
