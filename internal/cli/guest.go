package cli

import (
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/internal/guest"
)

// guestCommand is every agent's parent where the small program for it,
// agentform-guest, is not installed beside agentform.
func (a *app) guestCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "guest RUNDIR",
		Short:  "Be the parent process of one agent",
		Long:   "Be the parent process of the agent whose run's folder this is. agentform starts it; people do not.",
		Hidden: true,
		Args:   arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if code := guest.Main(args); code != 0 {
				return outcome(code)
			}
			return nil
		},
	}
}
