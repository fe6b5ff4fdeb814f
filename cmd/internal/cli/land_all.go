package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentform/agentform/cmd/internal/action/landing"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
)

// runLandAll lands the work of all sessions, in an order that is shown before.
func runLandAll(ctx context.Context, a *app, o landOptions) error {
	p, s, err := a.State()
	if err != nil {
		return err
	}
	working, stop := streams.UntilInterrupted(ctx)
	defer stop()
	f := landing.Of(p, printStep(a), a.Warn)
	want := landing.Options{Request: o.Request, Verified: o.verified, DryRun: o.dryRun, Removes: o.remove}
	all, err := f.Foresee(working, want)
	if err != nil {
		return err
	}
	if o.dryRun && a.JSON {
		return wire.Write(a.Out, status.LandingOf(land.Many{Members: all}, true))
	}
	if !a.JSON {
		if err := view.Landing(a.Out, a.OutStyle(), all); err != nil || o.dryRun {
			return err
		}
	}
	if n := len(land.Landing(all)); o.ask && n > 0 {
		if err := a.Confirm(fmt.Sprintf("Land %s in this order?", plaintext.Count(n, "session")), "agentform land --all"); err != nil {
			return err
		}
	}
	many := f.LandAll(working, s.Sessions, all, want, func(l *land.Lander, done land.Landed) error {
		if !a.JSON {
			if err := view.Landed(a.Out, a.OutStyle(), done); err != nil {
				return err
			}
		}
		if !o.stop && !o.remove {
			return nil
		}
		after, err := cleanUp(working, a, p, l, done, o)
		if a.JSON {
			return err
		}
		return errors.Join(err, view.Cleaned(a.Out, a.OutStyle(), done, after))
	})
	for _, x := range many.Refreshed {
		switch {
		case a.JSON:
		case x.Err != nil:
			a.Say(fmt.Sprintf("%s is not refreshed: %v", x.Address, x.Err))
		default:
			_ = view.RefreshedLine(a.Out, a.OutStyle(), x.Refreshed, false)
		}
	}
	if a.JSON {
		if err := wire.Write(a.Out, status.LandingOf(many, false)); err != nil {
			return err
		}
	}
	switch left := len(many.Left()); {
	case many.Failed != nil && working.Err() != nil && ctx.Err() == nil:
		a.Say(fmt.Sprintf("Interrupted: %s not landed. Run the same command to continue.", plaintext.Count(left, "session")))
		return exit.Interrupted
	case many.Failed != nil:
		return fmt.Errorf("%w\nlanded %d, not landed %d: run the same command again to land the rest", many.Failed, len(many.Landed), left)
	case slices.ContainsFunc(all, func(m *land.Member) bool { return m.Refused != nil }):
		return exit.Error
	}
	return nil
}
