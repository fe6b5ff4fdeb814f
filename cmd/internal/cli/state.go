package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/state"
)

func stateCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Look at the records, or change them",
		Long: `The state file holds what agentform has on record of every session. These commands
look at it, or change it, without looking at anything live. Before a change the state is
kept as it was; where is told.`,
		Example: `  agentform state list
  agentform state show api --json
  agentform state mv api server
  agentform state rm api`,
		Args: subcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(stateListCommand(a), stateShowCommand(a), stateMvCommand(a), stateRmCommand(a), statePullCommand(a), statePushCommand(a), stateRebuildCommand(a))
	return c
}

func stateListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "list [ADDR]...",
		Short:             "List the sessions on record",
		Long:              "Lists the addresses of the sessions on record, one a line: all, or those that ADDR means.",
		Example:           "  agentform state list worker",
		Annotations:       withJSON(),
		ValidArgsFunction: completeAddresses(a, 0),
		RunE:              func(_ *cobra.Command, args []string) error { return runStateList(a, args) },
	}
}

func runStateList(a *app, typed []string) error {
	_, s, err := a.openState()
	if err != nil {
		return err
	}
	records := s.Sessions
	if len(typed) > 0 {
		meant, err := resolveAll(addresses(nil, s.Sessions), typed)
		if err != nil {
			return err
		}
		records = nil
		for _, address := range meant {
			records = append(records, *project.Find(s.Sessions, address))
		}
	}
	if a.globals.json {
		return view.StateListJSON(a.env.Stdout, view.Records{Project: s.Project, Lineage: s.Lineage, Serial: s.Serial, Sessions: records})
	}
	return view.StateList(a.env.Stdout, records)
}

func stateShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "show ADDR",
		Short:             "Show one record",
		Long:              "Shows what is on record of one session, a field a line.",
		Example:           "  agentform state show api --json",
		Args:              arguments(1, 1),
		Annotations:       withJSON(),
		ValidArgsFunction: completeAddresses(a, 1),
		RunE:              func(_ *cobra.Command, args []string) error { return runStateShow(a, args[0]) },
	}
}

func runStateShow(a *app, typed string) error {
	_, s, err := a.openState()
	if err != nil {
		return err
	}
	address, err := resolveOne(addresses(nil, s.Sessions), typed)
	if err != nil {
		return err
	}
	if a.globals.json {
		return view.StateShowJSON(a.env.Stdout, *project.Find(s.Sessions, address))
	}
	return view.StateShow(a.env.Stdout, a.out(), *project.Find(s.Sessions, address))
}

func stateRmCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm ADDR...",
		Short: "Forget sessions, and leave them running",
		Long: `Takes sessions off the record and touches nothing else: what lives lives on. A later
apply finds it by its mark and adopts it, if the manifest wants it; otherwise doctor
lists it as an orphan.`,
		Example:           "  agentform state rm api",
		Args:              arguments(1, many),
		ValidArgsFunction: completeAddresses(a, 0),
		RunE:              func(c *cobra.Command, args []string) error { return runStateRm(c.Context(), a, args) },
	}
}

func runStateRm(ctx context.Context, a *app, typed []string) error {
	p, s, err := a.openState()
	if err != nil {
		return err
	}
	if _, err := resolveAll(addresses(nil, s.Sessions), typed); err != nil {
		return err
	}
	err = changeState(ctx, p, a.env.Stderr, func(store *state.Store) error {
		meant, err := resolveAll(addresses(nil, store.State().Sessions), typed)
		if err != nil {
			return err
		}
		for _, address := range meant {
			if err := store.Delete(address); err != nil {
				return fmt.Errorf("forget %s: %w", address, err)
			}
			fmt.Fprintf(a.env.Stdout, "%s: off the record\n", address)
		}
		return nil
	})
	if err == nil {
		fmt.Fprintln(a.env.Stderr, "Whatever lives was not touched: apply adopts what the manifest wants, doctor lists the rest.")
	}
	return err
}
