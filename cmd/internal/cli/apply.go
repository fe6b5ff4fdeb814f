package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/watch"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/reporter"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
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

// maxReplans bounds how often an apply that need not ask plans again.
const maxReplans = 3

// planAndApply plans again where the plan is outdated and approval was given in advance.
func planAndApply(ctx context.Context, a *app, o applyOptions) error {
	t, err := newReporter(a, o.verb)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		err := planAndApplyOnce(ctx, a, t, o)
		changed := reconcile.Outdated(err)
		var said exit.Code
		switch {
		case changed == "" && (err == nil || !a.JSON || errors.As(err, &said)):
			return err
		case changed == "", !o.autoApprove || o.file != "" || n == maxReplans:
			return t.Fail(nil, err)
		}
		a.Log.Info("something changed in the meantime: planning again", "what", changed)
	}
}

// planAndApplyOnce plans and applies once. It does not report that the plan is outdated.
func planAndApplyOnce(ctx context.Context, a *app, t *reporter.Reporter, o applyOptions) error {
	x, err := planToApply(ctx, a, o)
	if err != nil {
		return err
	}
	asks := o.file == "" && !o.autoApprove
	if o.afterTurn {
		x.AfterTurn(o.turnLimit)
	}
	if asks {
		x.KeptWork(ctx)
	}
	if err := t.Plan(x.Plan, o.detail == "full"); err != nil {
		return err
	}
	if x.Idle(o.wait) {
		if !o.Destroy {
			autoHub(ctx, a, x.Project)
			defer reportHub(a, x.Project, x.HubNeeds())
		}
		return finishUnchanged(a, t, x)
	}
	if err := checkReady(ctx, t, x); err != nil {
		return err
	}
	if asks && (x.Acts() || x.Waits()) {
		question := "Apply this plan to %q?"
		if o.Destroy {
			question = "Destroy these sessions of %q?"
		}
		if err := a.Confirm(fmt.Sprintf(question, x.Project.Manifest.Project), a.Command+" --auto-approve"); err != nil {
			return err
		}
	}
	return carryOut(ctx, a, t, x, o)
}

// carryOut applies a plan, and waits if that is asked.
func carryOut(outer context.Context, a *app, t *reporter.Reporter, x reconcile.Planned, o applyOptions) error {
	ctx, drain, done := a.Interruptible(outer)
	defer done()
	run := reconcile.Run{
		StopOnError: o.onError == "stop", Wait: o.wait, Drain: drain, Emit: t.Event, Need: t.Need,
	}
	applied, err := x.Apply(ctx, run)
	if err != nil {
		return err
	}
	t.NotInherited(x.NotInherited(), x.Project.Manifest.DataDir)
	if !o.Destroy && len(applied.Results) > 0 {
		autoHub(ctx, a, x.Project)
	}
	applied.Await(ctx)
	interrupted := applied.Interrupted(ctx)
	err = t.End(applied.Tally, x.Problems, applied.Err)
	if !o.Destroy {
		reportHub(a, x.Project, applied.HubNeeds())
	}
	if !o.wait && !interrupted {
		done() // from here on Ctrl-C only ends the wait
		lookAgain(outer, a, x.Project, applied.Started())
	}
	return err
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

func finishUnchanged(a *app, t *reporter.Reporter, x reconcile.Planned) error {
	switch {
	case a.JSON, x.HasErrors():
		return t.Fail(x.Problems, nil)
	case !x.Complete:
		return exit.Error
	}
	return nil
}

// lookAgain prints, at a terminal, what became of the sessions that an apply started. The
// apply is over: what cannot be observed or is interrupted is left out.
func lookAgain(ctx context.Context, a *app, p *project.Project, started map[session.Address]bool) {
	if len(started) == 0 || a.JSON || !streams.IsTerminal(a.Out) {
		return
	}
	ctx, stop := streams.UntilInterrupted(ctx)
	defer stop()
	if all := watch.Started(ctx, p, started); len(all) > 0 {
		_ = view.Started(a.Out, a.OutStyle(), all, time.Now()) // as the lines before it
	}
}
