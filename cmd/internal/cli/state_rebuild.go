package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/rebuild"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
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
	p := a.open()
	x, err := rebuild.Find(ctx, rebuild.Input{
		Manifest: p.Manifest, State: p.State, Version: a.env.Version, Owner: p.Owner(), By: p.Who().User,
		Runtime: p.Reconciler(project.ToRead).Opened, Facts: p.Facts, Launched: p.Launched,
	})
	if err != nil {
		return err
	}
	if err := p.Check(x.State); err != nil {
		return err
	}
	for _, address := range slices.SortedFunc(maps.Keys(x.Added), session.Address.Compare) {
		fmt.Fprintln(a.env.Stdout, plaintext.Safe(x.Added[address]))
	}
	for _, l := range x.LeftOut {
		fmt.Fprintln(a.env.Stderr, "left out: "+plaintext.Safe(l))
	}
	dir, sessions := rebuild.OutputsDir(p.Manifest), plaintext.Count(len(x.State.Sessions), "session")
	switch {
	case x.Sound && len(x.Added) == 0:
		fmt.Fprintf(a.env.Stdout, "The state is complete: %s, and nothing else was found.\n", sessions)
		return nil
	case len(x.Added) == 0 && x.None:
		return fmt.Errorf("nothing to rebuild a state from: there is none at %s, no session left a record in %s, and none runs", p.State, dir)
	case len(x.Added) == 0:
		return fmt.Errorf("nothing to rebuild the state from: no session left a record in %s, and none runs; to start over, move away what is there: mv %s %[2]s.broken", dir, p.State)
	}
	if !approved {
		question := fmt.Sprintf("Write a state with %s (lineage %s)?", sessions, x.State.Lineage)
		if err := confirm(a, question, a.command+" --auto-approve"); err != nil {
			return err
		}
	}
	backups, err := state.Rebuild(ctx, p.State, x.State, x.Sum, p.Who(), a.globals.lockTimeout)
	for _, b := range backups {
		fmt.Fprintf(a.env.Stderr, "Backup: %s\n", b)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.env.Stdout, "Rebuilt the state: %s. Running sessions were not touched. Check it with: agentform plan\n", sessions)
	return nil
}
