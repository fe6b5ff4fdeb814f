package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
)

func captureCommand(a *app) *cobra.Command {
	var lines int
	c := &cobra.Command{
		Use:   "capture ADDR",
		Short: "Print a session's screen",
		Long: `Prints the session's screen and recent scrollback as plain text, at most 48 KiB. For an
exited agent it prints the last screen.`,
		Example: `  agentform capture api
  agentform capture api --lines 20 --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if lines < 1 {
				return usageError{c.CommandPath(), errors.New("--lines: must be 1 or more")}
			}
			return runCapture(c.Context(), a, args[0], lines)
		},
	}
	c.Flags().IntVar(&lines, "lines", 100, "maximum number of lines")
	return c
}

func runCapture(ctx context.Context, a *app, typed string, lines int) error {
	t, err := openTarget(ctx, a, typed)
	if err != nil {
		return err
	}
	if t.Live == nil {
		return fmt.Errorf("%s has no screen: %s\nagentform logs %s shows what it had", t.Record.Address, t.Diagnosis.Detail, quoted(t.Record.Address))
	}
	text, err := t.runtime.Capture(ctx, t.place(), lines)
	if err != nil {
		return t.withRemedy(fmt.Errorf("capture %s: %w", t.Record.Address, err))
	}
	if a.globals.json {
		return view.TextJSON(a.env.Stdout, t.Record.Address, text)
	}
	tail, truncated := wire.Tail(plaintext.Safe(text))
	if truncated {
		fmt.Fprintln(a.env.Stderr, "(only the last 48 KiB)")
	}
	if tail == "" {
		return nil
	}
	_, err = io.WriteString(a.env.Stdout, tail+"\n")
	return err
}
