package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/watch"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/reporter"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

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

// maxReplans bounds how often an apply that need not ask plans again.
const maxReplans = 3

func finishUnchanged(a *app, t *reporter.Reporter, x reconcile.Planned) error {
	switch {
	case a.JSON, x.HasErrors():
		return t.Fail(x.Problems, nil)
	case !x.Complete:
		return exit.Error
	}
	return nil
}
