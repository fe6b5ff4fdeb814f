package cli

import (
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

func validateCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check the manifest",
		Long: `Checks the manifest and reports all errors with their position. Missing programs of agents
and secrets that are not set are warnings. Running sessions and the state are not read.`,
		Example: `  agentform validate
  agentform validate --json --var ticket=SHOP-1`,
		RunE: func(*cobra.Command, []string) error { return runValidate(a) },
	}
}

func runValidate(a *app) error {
	p := a.Open()
	found := append(p.Problems, p.Host().Sessions(p.Manifest.Sessions, session.Warning)...)
	found = append(found, p.Host().Certificates(session.Warning)...)
	var err error
	if a.JSON {
		err = view.ValidJSON(a.Out, found)
	} else {
		out := a.Out
		if session.HasErrors(found) {
			out = a.Err
		}
		err = view.Valid(out, a.Style(out), len(p.Manifest.Sessions), found)
	}
	if err == nil && session.HasErrors(found) {
		return exit.Error
	}
	return err
}
