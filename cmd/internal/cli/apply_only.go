package cli

import (
	"context"
	"errors"

	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/run"
	"github.com/agentform/agentform/cmd/internal/reporter"
)

// applyOnly carries out a plan for one session.
func applyOnly(ctx context.Context, a *app, t *reporter.Reporter, x reconcile.Planned, run reconcile.Run) error {
	if x.HasErrors() {
		return t.Fail(x.Problems, nil)
	}
	if err := x.Nothing(); err != nil {
		return err
	}
	if err := checkReady(ctx, t, x); err != nil {
		return err
	}
	ctx, drain, done := a.Interruptible(ctx)
	defer done()
	run.Drain, run.Emit = drain, t.Event
	applied, err := x.Apply(ctx, run)
	if err != nil {
		return t.Fail(nil, err)
	}
	t.NotInherited(x.NotInherited(), x.Project.Manifest.DataDir)
	return t.End(applied.Tally, nil, applied.Err)
}

func newReporter(a *app, command string) (*reporter.Reporter, error) {
	return reporter.New(a.Streams, a.Version, command)
}

// checkReady prints what this machine lacks for a plan. It fails if that prevents an apply.
func checkReady(ctx context.Context, t *reporter.Reporter, x reconcile.Planned) error {
	missing, prevents := x.Missing(ctx)
	if err := t.Diagnostics(missing); err != nil || !prevents {
		return err
	}
	return errors.New("no changes made: fix the errors above")
}

func startOne(ctx context.Context, a *app, t *reporter.Reporter, x *run.Session) error {
	made, err := x.Plan(ctx)
	if err != nil {
		return err
	}
	return applyOnly(ctx, a, t, made, reconcile.Run{Origin: run.Origin})
}
