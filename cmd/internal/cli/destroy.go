package cli

import (
	"github.com/spf13/cobra"
)

func destroyCommand(a *app) *cobra.Command {
	o := applyOptions{verb: "Destroy"}
	c := &cobra.Command{
		Use:   "destroy",
		Short: "Stop all sessions and remove them from the state",
		Long: `Stops all sessions, verifies that no process is left, and removes them from the state.
Branches are always kept, and so is a workspace with uncommitted work; the confirmation
lists those workspaces. The same as apply --destroy.`,
		Example: `  agentform destroy
  agentform destroy --target api --auto-approve`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Destroy = true
			return runApply(a, c, o)
		},
	}
	o.register(a, c)
	o.registerApply(c)
	return c
}
