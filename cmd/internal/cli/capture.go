package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
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
	begun := forEach(ctx, a, len(targets), func(ctx context.Context, i int) {
		tails[i] = targets[i].Capture(ctx, lines)
	})
	tails = tails[:begun]
	m := view.Many{Verb: "captured", All: len(targets), Left: len(targets) - begun}
	var errs []error
	for _, x := range tails {
		if x.Err != nil {
			errs = append(errs, x.Err)
		}
	}
	m.Failed, m.Done = len(errs), begun-len(errs)
	if err := printTails(a, tails, !o.ByFlag() && len(o.Typed) == 1 && len(targets) == 1); err != nil {
		return err
	}
	return endMany(a, m, nil, errs)
}

// printTails prints screens, each of several below a title.
func printTails(a *app, tails []view.Tail, single bool) error {
	switch {
	case a.JSON && single && tails[0].Err != nil:
		return nil
	case a.JSON && single:
		return view.TailJSON(a.Out, tails[0])
	case a.JSON:
		return view.TailsJSON(a.Out, tails)
	}
	printed := 0
	for _, x := range tails {
		if x.Err != nil {
			continue
		}
		tail, truncated := wire.Tail(plaintext.Safe(x.Text))
		if len(tails) > 1 {
			if printed > 0 {
				fmt.Fprintln(a.Out)
			}
			if err := view.Title(a.Out, a.OutStyle(), x.Address); err != nil {
				return err
			}
		}
		printed++
		if truncated {
			fmt.Fprintln(a.Err, "(only the last 48 KiB)")
		}
		if tail == "" {
			continue
		}
		if _, err := io.WriteString(a.Out, tail+"\n"); err != nil {
			return err
		}
	}
	return nil
}
