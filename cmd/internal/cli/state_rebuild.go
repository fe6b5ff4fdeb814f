package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/edit"
	"github.com/agentform/agentform/internal/plaintext"
)

func stateRebuildCommand(a *app) *cobra.Command {
	approved := false
	c := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild a lost or damaged state",
		Long: `Rebuilds the state from what the sessions left: the copies of their records, the marks of
running tmux sessions and containers, and the directories of their runs. Stopped and paused
sessions stay so, sessions of agentform run are kept, and so is the lineage. It shows what
it found, asks, and backs up what is there. Running sessions are not touched. To a valid
state it only adds what is missing.`,
		Example: `  agentform state rebuild
  agentform state rebuild --auto-approve`,
		RunE: func(c *cobra.Command, _ []string) error { return runStateRebuild(c.Context(), a, approved) },
	}
	c.Flags().BoolVar(&approved, "auto-approve", false, "skip the confirmation")
	return c
}

func runStateRebuild(ctx context.Context, a *app, approved bool) error {
	x, err := edit.Lost(ctx, a.Open())
	if err != nil {
		return err
	}
	for _, line := range x.Lines() {
		fmt.Fprintln(a.Out, plaintext.Safe(line))
	}
	for _, l := range x.LeftOut {
		fmt.Fprintln(a.Err, "left out: "+plaintext.Safe(l))
	}
	sessions := plaintext.Count(len(x.State.Sessions), "session")
	switch needed, err := x.Needed(); {
	case err != nil:
		return err
	case !needed:
		fmt.Fprintf(a.Out, "The state is complete: %s, and nothing else was found.\n", sessions)
		return nil
	}
	if !approved {
		question := fmt.Sprintf("Write a state with %s (lineage %s)?", sessions, x.State.Lineage)
		if err := a.Confirm(question, a.Command+" --auto-approve"); err != nil {
			return err
		}
	}
	backups, err := x.Write(ctx)
	sayBackups(a, backups...)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "Rebuilt the state: %s. Running sessions were not touched. Check it with: agentform plan\n", sessions)
	return nil
}
