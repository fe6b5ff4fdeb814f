package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
)

func stateCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Inspect and edit the state",
		Long: `Inspects and edits the state file, without inspecting running sessions. A backup is written
before every change.`,
		Example: `  agentform state list
  agentform state show api --json
  agentform state mv api server
  agentform state rm api`,
		Args: subcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(stateListCommand(a), stateShowCommand(a), stateMvCommand(a), stateRmCommand(a), statePullCommand(a), statePushCommand(a), stateRebuildCommand(a), stateLockCommand(a), stateReencryptCommand(a))
	return c
}

func stateListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list [ADDR]...",
		Short:   "List the sessions in the state",
		Long:    "Lists the addresses of the sessions in the state, one a line: all, or those that ADDR names.",
		Example: "  agentform state list worker",
		RunE:    func(_ *cobra.Command, args []string) error { return runStateList(a, args) },
	}
}

func runStateList(a *app, typed []string) error {
	_, s, err := a.State()
	if err != nil {
		return err
	}
	records := s.Sessions
	if len(typed) > 0 {
		named, err := choose.All(choose.Addresses(nil, s.Sessions), typed)
		if err != nil {
			return err
		}
		records = nil
		for _, address := range named {
			records = append(records, *project.Find(s.Sessions, address))
		}
	}
	if a.JSON {
		return view.StateListJSON(a.Out, s, records)
	}
	return view.StateList(a.Out, records)
}

func stateShowCommand(a *app) *cobra.Command {
	hcl := false
	c := &cobra.Command{
		Use:   "show ADDR",
		Short: "Show one session's state",
		Long: `Shows the record of one session, a field a line. With --hcl it prints the session block
that declares it, formatted as fmt does, with the agent and runtime blocks that the
manifest lacks. Once that is in the manifest, plan has no changes for it.`,
		Example: `  agentform state show api --json
  agentform state show api --hcl >>agentform.hcl`,
		RunE: func(_ *cobra.Command, args []string) error { return runStateShow(a, args[0], hcl) },
	}
	c.Flags().BoolVar(&hcl, "hcl", false, "print the session block for a manifest")
	return c
}

func runStateShow(a *app, typed string, hcl bool) error {
	if hcl && a.JSON {
		return exit.Usage(a.Command, errors.New("--hcl and --json exclude each other"))
	}
	p, s, err := a.State()
	if err != nil {
		return err
	}
	address, err := choose.One(choose.Addresses(nil, s.Sessions), typed)
	if err != nil {
		return err
	}
	if hcl {
		made := generateBlocks(a, p, config.Draft{Spec: project.Find(s.Sessions, address).Declared()})
		_, err := a.Out.Write(made.Text)
		return err
	}
	if a.JSON {
		return view.StateShowJSON(a.Out, *project.Find(s.Sessions, address))
	}
	return view.StateShow(a.Out, a.OutStyle(), *project.Find(s.Sessions, address))
}
