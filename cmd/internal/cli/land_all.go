package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentform/agentform/cmd/internal/action/landing"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/plaintext"
)

// runLandAll lands the work of all sessions, in an order that is shown before.
func runLandAll(ctx context.Context, a *app, o landOptions) error {
	p, s, err := a.openState()
	if err != nil {
		return err
	}
	working, stop := untilInterrupted(ctx)
	defer stop()
	f := landing.Of(p, printStep(a), a.warn)
	want := landing.Options{Request: o.Request, Verified: o.verified, DryRun: o.dryRun, Removes: o.remove}
	all, err := f.Foresee(working, want)
	if err != nil {
		return err
	}
	if o.dryRun && a.globals.json {
		return view.LandingJSON(a.env.Stdout, land.Many{Members: all}, true)
	}
	if !a.globals.json {
		if err := view.Landing(a.env.Stdout, a.out(), all); err != nil || o.dryRun {
			return err
		}
	}
	if n := len(land.Landing(all)); o.ask && n > 0 {
		if err := confirm(a, fmt.Sprintf("Land %s in this order?", plaintext.Count(n, "session")), "agentform land --all"); err != nil {
			return err
		}
	}
	many := f.LandAll(working, s.Sessions, all, want, func(l *land.Lander, done land.Landed) error {
		if !a.globals.json {
			if err := view.Landed(a.env.Stdout, a.out(), done); err != nil {
				return err
			}
		}
		if !o.stop && !o.remove {
			return nil
		}
		after, err := cleanUp(working, a, p, l, done, o)
		if a.globals.json {
			return err
		}
		return errors.Join(err, view.Cleaned(a.env.Stdout, a.out(), done, after))
	})
	for _, x := range many.Refreshed {
		switch {
		case a.globals.json:
		case x.Err != nil:
			a.say(fmt.Sprintf("%s is not refreshed: %v", x.Address, x.Err))
		default:
			_ = view.RefreshedLine(a.env.Stdout, a.out(), x.Refreshed, false)
		}
	}
	if a.globals.json {
		if err := view.LandingJSON(a.env.Stdout, many, false); err != nil {
			return err
		}
	}
	switch left := len(many.Left()); {
	case many.Failed != nil && working.Err() != nil && ctx.Err() == nil:
		a.say(fmt.Sprintf("Interrupted: %s not landed. Run the same command to continue.", plaintext.Count(left, "session")))
		return outcome(exitInterrupted)
	case many.Failed != nil:
		return fmt.Errorf("%w\nlanded %d, not landed %d: run the same command again to land the rest", many.Failed, len(many.Landed), left)
	case slices.ContainsFunc(all, func(m *land.Member) bool { return m.Refused != nil }):
		return outcome(exitError)
	}
	return nil
}
