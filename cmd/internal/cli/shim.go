package cli

import (
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/internal/shim"
)

// guestCommand is every agent's parent where the small program for it,
// agentform-shim, is not installed beside agentform.
func guestCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "guest RUNDIR | notify RUNDIR [JSON]",
		Short: "Be the parent process of one agent",
		Long: `Be the parent process of the agent whose run's folder this is, or, with notify, keep what
one of its hooks says. agentform and agents start it; people do not.`,
		Hidden:             true,
		Args:               arguments(1, 3),
		DisableFlagParsing: true, // what a hook says is no flag
		RunE: func(_ *cobra.Command, args []string) error {
			if code := shim.Main(args); code != 0 {
				return outcome(code)
			}
			return nil
		},
	}
}
