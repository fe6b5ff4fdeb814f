package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/reconcile"
)

type planFlags struct {
	reconcile.Asked
	detail string
}

func (f *planFlags) registerTargets(a *app, c *cobra.Command) {
	c.Flags().StringArrayVar(&f.Targets, "target", nil, "only this `address` and its dependencies (repeatable)")
	c.Flags().StringArrayVar(&f.Exclude, "exclude", nil, "leave out this `address` and its dependents (repeatable)")
	filterFlags(a, c, &f.Filter, "only sessions")
	completeFlag(c, "target", completeAddresses(a, unlimited))
	completeFlag(c, "exclude", completeAddresses(a, unlimited))
}

func (f *planFlags) register(a *app, c *cobra.Command) {
	f.registerTargets(a, c)
	c.Flags().StringVar(&f.detail, "detail", "changes", "changes only, or full (includes unchanged sessions)")
	completeFlag(c, "detail", words("changes", "full"))
}

func (f *planFlags) registerMore(a *app, c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&f.Replace, "replace", nil, "recreate the session at this `address` (repeatable)")
	flags.BoolVar(&f.Destroy, "destroy", false, "plan to destroy all sessions")
	flags.BoolVar(&f.IgnoreBudget, "ignore-budget", false, "let sessions that are over a budget go on; their budgets start over")
	flags.BoolVar(&f.RefreshOnly, "refresh-only", false, "only show drift; plan no changes")
	completeFlag(c, "replace", completeAddresses(a, unlimited))
}

func (f *planFlags) checkDetail() error {
	if f.detail != "changes" && f.detail != "full" {
		return errors.New("--detail " + f.detail + ": must be changes or full")
	}
	return nil
}
