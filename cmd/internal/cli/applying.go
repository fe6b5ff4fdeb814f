package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/reporter"
	"github.com/agentform/agentform/internal/hub"
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

// reportHub says what keeps the hub from doing what the manifest declares, or what else needs it.
func reportHub(a *app, p *project.Project, also []string) {
	if a.JSON {
		return
	}
	if lack := reconcile.HubLacks(p, also); lack != "" {
		a.Say("\n" + lack)
	}
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

// autoHub starts the hub of a manifest with hub = "auto".
func autoHub(ctx context.Context, a *app, p *project.Project) {
	if _, runs := hub.Running(p.Manifest.DataDir); runs || !p.Manifest.HubAuto {
		return
	}
	var w io.Writer = a.Err
	if a.JSON {
		w = io.Discard
	}
	err := detach(ctx, a, p, serveOptions{}, w)
	var taken *hub.TakenError // by another apply, at the same moment
	if err != nil && !errors.As(err, &taken) {
		fmt.Fprintf(a.Err, "Warning: the hub could not be started: %v\n", err)
	}
}
