package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/action/await"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
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
			o.destroy = true
			return runApply(a, c, o)
		},
	}
	o.register(a, c)
	o.registerApply(c)
	return c
}

func (o *applyOptions) registerApply(c *cobra.Command) {
	flags := c.Flags()
	afterTurnFlag(flags, &o.afterTurn, &o.turnLimit)
	flags.BoolVar(&o.autoApprove, "auto-approve", false, "skip the confirmation")
	flags.StringVar(&o.onError, "on-error", "continue", "after a failure: continue or stop")
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
		var changed *engine.ChangedError
		switch {
		case !errors.As(err, &changed):
			return err
		case !o.autoApprove || o.file != "" || n == maxReplans:
			return t.end(apply.Tally{}, nil, changed)
		}
		a.Log.Info("something changed in the meantime: planning again", "what", changed.Changes)
	}
}

// planAndApplyOnce plans and applies once. It returns a ChangedError without reporting it.
func planAndApplyOnce(ctx context.Context, a *app, t *reporter, o applyOptions) error {
	p, made, request, err := planToApply(ctx, a, o)
	if err != nil {
		return err
	}
	request.Wait = o.wait
	if o.afterTurn {
		made = made.AfterTurn(engine.TurnLimit(o.turnLimit))
	}
	if o.file == "" && !o.autoApprove {
		preflight.KeptWork(ctx, &made)
	}
	if err := t.plan(made, o.detail); err != nil {
		return err
	}
	if !made.Acts() && !hasNewHolds(made) && !(o.wait && (hasHolds(made) || len(await.Ending(made)) > 0)) {
		if !o.destroy {
			autoHub(ctx, a, p)
			defer reportHub(a, p, hubNeeds(heldByHub(made), len(await.Unfinished(made)) > 0))
		}
		return finishUnchanged(a, t, made)
	}
	if err := checkReady(ctx, a, t, made); err != nil {
		return err
	}
	if o.file == "" && !o.autoApprove && (made.Acts() || hasHolds(made)) {
		question := "Apply this plan to %q?"
		if o.destroy {
			question = "Destroy these sessions of %q?"
		}
		if err := a.Confirm(fmt.Sprintf(question, p.Manifest.Project), a.Command+" --auto-approve"); err != nil {
			return err
		}
	}
	r := p.Reconciler(project.ToAct)
	r.Applier.Emit, r.Applier.StopOnError = t.event, o.onError == "stop"
	if o.afterTurn {
		r.Applier.AfterTurn = engine.TurnLimit(o.turnLimit)
	}
	outer := ctx
	ctx, drain, done := a.Interruptible(ctx)
	defer done()
	tally, err := r.Apply(ctx, request, made, drain)
	var changed *engine.ChangedError
	if errors.As(err, &changed) {
		return err
	}
	t.environment(r.Applier, made)
	if !o.destroy && len(tally.Results) > 0 {
		autoHub(ctx, a, p)
	}
	if o.wait && ctx.Err() == nil && !errors.Is(err, apply.ErrInterrupted) {
		var followed error
		tally, followed = await.Follow(ctx, await.Input{
			Project: p, Observer: project.Fleet(p), Engine: r, Request: request, Plan: made, Tally: tally, Drain: drain, Emit: t.event, Need: t.need,
		})
		err = errors.Join(err, followed)
	}
	interrupted := ctx.Err() != nil || errors.Is(err, apply.ErrInterrupted)
	err = t.end(tally, made.Problems, err)
	switch {
	case o.destroy:
	case o.wait: // which has seen their ends itself
		reportHub(a, p, hubNeeds(tally.Held > 0, false))
	default:
		reportHub(a, p, hubNeeds(tally.Held > 0, len(await.Unfinished(made)) > 0))
	}
	if !o.wait && !interrupted {
		done() // from here on Ctrl-C only ends the wait
		lookAgain(outer, a, p, tally)
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
func planToApply(ctx context.Context, a *app, o applyOptions) (*project.Project, plan.Plan, engine.Request, error) {
	if o.file == "" {
		return makePlan(ctx, a, o.planFlags)
	}
	made, err := readPlan(a, o.file)
	if err != nil {
		return nil, made, engine.Request{}, err
	}
	p, err := a.Manifest()
	if err == nil {
		err = checkCertificates(a, p)
	}
	if err != nil {
		return nil, made, engine.Request{}, err
	}
	if made.Project != p.Manifest.Project {
		return nil, made, engine.Request{}, fmt.Errorf("%s is a plan for the project %q, and this is %q: run plan again here", o.file, made.Project, p.Manifest.Project)
	}
	return p, made, engine.Request{Wanted: made.Wanted(), Options: made.Options, Moves: made.Moves, Removed: made.Removed, Imports: made.Imports}, nil
}

func readPlan(a *app, file string) (plan.Plan, error) {
	b, err := os.ReadFile(a.Absolute(file))
	if err != nil {
		return plan.Plan{}, fmt.Errorf("read the plan: %w", err)
	}
	p, err := plan.Decode(b)
	if errors.Is(err, plan.ErrNotPlan) {
		err = fmt.Errorf("%w: create one with agentform plan --out FILE", err)
	}
	if err != nil {
		err = fmt.Errorf("read the plan %s: %w", file, err)
	}
	return p, err
}

func checkReady(ctx context.Context, a *app, t *reporter, p plan.Plan) error {
	missing := a.Open().Host().Plan(ctx, p, session.Error)
	if err := t.diagnostics(missing); err != nil || !session.HasErrors(missing) {
		return err
	}
	return errors.New("no changes made: fix the errors above")
}

func finishUnchanged(a *app, t *reporter, p plan.Plan) error {
	switch {
	case t.lines != nil, session.HasErrors(p.Problems):
		return t.end(apply.Tally{}, p.Problems, nil)
	case !p.Complete:
		return exit.Error
	}
	return nil
}
