package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/landing"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/session"
)

func runLand(ctx context.Context, a *app, typed string, o landOptions) error {
	p, s, err := a.State()
	if err != nil {
		return err
	}
	address, err := choose.One(choose.Addresses(p.Manifest.Sessions, s.Sessions), typed)
	var rec *session.Record
	if err == nil {
		rec = project.Find(s.Sessions, address)
	}
	switch {
	case err == nil && rec == nil:
		err = target.NotApplied(address)
	case rec != nil && rec.Spent():
		err = target.Spent(*rec)
	}
	if err != nil {
		if o.dryRun || o.keep {
			return err
		}
		show := func(d land.Landed, after view.Cleanup) error {
			if a.JSON {
				return view.LandJSON(a.Out, d, after, false)
			}
			return view.Cleaned(a.Out, a.OutStyle(), d, after)
		}
		if found, again := landing.FinishRemoval(ctx, p, typed, show); found {
			return again
		}
		return err
	}
	f := landing.Of(p, printStep(a), a.Warn)
	l, err := f.Lander(ctx, address)
	if err != nil {
		return err
	}
	if o.dryRun {
		return landDryRun(ctx, a, l, o)
	}
	working, stop := streams.UntilInterrupted(ctx)
	done, err := f.Land(working, l, o.Request, o.remove)
	interrupted := working.Err() != nil && ctx.Err() == nil
	stop()
	if err != nil && interrupted {
		fmt.Fprintln(a.Err, "Interrupted: nothing was landed. Run the same command to continue.")
		return exit.Interrupted
	}
	if err != nil {
		return err
	}
	if !a.JSON {
		if err := view.Landed(a.Out, a.OutStyle(), done); err != nil {
			return err
		}
	}
	after, err := cleanUp(ctx, a, p, l, done, o)
	if a.JSON {
		return errors.Join(err, view.LandJSON(a.Out, done, after, false))
	}
	return errors.Join(err, view.Cleaned(a.Out, a.OutStyle(), done, after))
}

// printStep prints what is about to be done.
func printStep(a *app) func(session.Address, land.Step) {
	return func(address session.Address, step land.Step) {
		if !a.JSON {
			_ = view.LandStep(a.Err, a.ErrStyle(), address, step) // only progress
		}
	}
}

func landDryRun(ctx context.Context, a *app, l *land.Lander, o landOptions) error {
	f, steps, err := landing.Decide(ctx, l, o.Request)
	if err != nil {
		return err
	}
	if !a.JSON {
		return view.LandPlan(a.Out, a.OutStyle(), f, steps)
	}
	return view.LandJSON(a.Out, landing.WouldBe(f, steps, o.Method), view.Cleanup{}, true)
}
