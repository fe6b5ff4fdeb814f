package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
)

type applyOptions struct {
	planFlags
	file         string // a saved plan; empty: plan now
	autoApprove  bool
	wait, dryRun bool
	onError      string
	afterTurn    bool
	turnLimit    time.Duration // of afterTurn; 0: as the manifest says
	verb         string        // as the last line calls it: Apply
}

func applyCommand(a *app) *cobra.Command {
	o := applyOptions{verb: "Apply"}
	c := &cobra.Command{
		Use:   "apply [PLANFILE]",
		Short: "Create or update sessions",
		Long: `Creates a plan, asks for confirmation, and applies it in parallel, dependencies first. If a
session fails, its dependents are skipped and the others continue; all errors are listed
at the end.

With PLANFILE it applies exactly that plan. The plan is refused if anything that it would
change has changed since.

The first Ctrl-C finishes the operations in progress and starts no new ones; the second
stops immediately. The state is consistent in both cases.`,
		Example: `  agentform apply
  agentform apply --auto-approve --wait
  agentform apply --target 'worker["web"]'
  agentform apply api.plan`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.file = args[0]
			}
			return runApply(a, c, o)
		},
	}
	o.register(a, c)
	o.registerMore(a, c)
	o.registerApply(c)
	c.Flags().BoolVar(&o.wait, "wait", false, "wait until the started sessions are ready, held ones have started, and those that end have finished")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only plan (the same as agentform plan)")
	return c
}

func (o *applyOptions) registerApply(c *cobra.Command) {
	set := c.Flags()
	flags.AfterTurn(set, &o.afterTurn, &o.turnLimit)
	set.BoolVar(&o.autoApprove, "auto-approve", false, "skip the confirmation")
	set.StringVar(&o.onError, "on-error", "continue", "after a failure: continue or stop")
	completeFlag(c, "on-error", words("continue", "stop"))
}

func runApply(a *app, c *cobra.Command, o applyOptions) error {
	ctx := c.Context()
	if err := o.check(c); err != nil {
		return exit.Usage(c.CommandPath(), err)
	}
	if o.dryRun {
		return runPlan(ctx, a, planOptions{planFlags: o.planFlags})
	}
	if a.JSON && o.file == "" && !o.autoApprove {
		return exit.Usage(c.CommandPath(), errors.New("--json cannot ask for approval: it needs --auto-approve or a saved plan"))
	}
	if err := a.CheckOutside(); err != nil {
		return err
	}
	return planAndApply(ctx, a, o)
}

func (o *applyOptions) check(c *cobra.Command) error {
	if o.onError != "continue" && o.onError != "stop" {
		return fmt.Errorf("--on-error %s: must be continue or stop", o.onError)
	}
	if o.file == "" {
		return nil
	}
	for _, flag := range []string{"target", "exclude", "replace", "destroy", "refresh-only", "dry-run"} {
		if c.Flags().Changed(flag) {
			return fmt.Errorf("--%s cannot change a saved plan: use it with agentform plan --out", flag)
		}
	}
	return nil
}

// planToApply returns the plan to approve, or a saved one, which has been approved.
func planToApply(ctx context.Context, a *app, o applyOptions) (reconcile.Planned, error) {
	if o.file == "" {
		return makePlan(ctx, a, o.planFlags)
	}
	saved, err := reconcile.Read(a.Absolute(o.file), o.file)
	if err != nil {
		return reconcile.Planned{}, err
	}
	p, err := a.Manifest()
	if err == nil {
		err = checkCertificates(a, p)
	}
	if err != nil {
		return reconcile.Planned{}, err
	}
	return saved.For(p, o.file)
}
