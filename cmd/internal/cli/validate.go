package cli

import (
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

func validateCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check the manifest without touching anything",
		Long: `Reads the manifest and tells everything that is wrong with it, each with its place.
Commands of agents that are not installed and secrets that are not set are warnings.
It neither looks at what is live nor at the state.`,
		Example: `  agentform validate
  agentform validate --json --var ticket=SHOP-1`,
		Args:        arguments(0, 0),
		Annotations: withJSON(),
		RunE:        func(*cobra.Command, []string) error { return runValidate(a) },
	}
}

func runValidate(a *app) error {
	p := a.open()
	found := append(p.Problems, p.Host().Sessions(p.Manifest.Sessions, session.Warning)...)
	var err error
	if a.globals.json {
		err = view.ValidJSON(a.env.Stdout, found)
	} else {
		out := a.env.Stdout
		if session.HasErrors(found) {
			out = a.env.Stderr
		}
		err = view.Valid(out, a.style(out), len(p.Manifest.Sessions), found)
	}
	if err == nil && session.HasErrors(found) {
		return outcome(exitError)
	}
	return err
}
