package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentform/agentform/cmd/internal/action/landing"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/session"
)

// cleanUp does what was asked for after landing, or asks.
func cleanUp(ctx context.Context, a *app, p *project.Project, l *land.Lander, d land.Landed, o landOptions) (c view.Cleanup, err error) {
	r := l.Record
	stopped := landing.Stopped(r)
	if !o.stop && !o.remove && !o.keep {
		if a.JSON || !streams.IsTerminal(a.In) {
			hintCleanup(a, r, d)
			return c, nil
		}
		if o.remove, o.stop, err = askCleanup(a, r, d, stopped); err != nil {
			return c, err
		}
	}
	switch {
	case o.remove && !d.Done:
		return c, errors.New("nothing was removed: the work is not in its base")
	case o.remove:
		return landing.Remove(ctx, p, l, d, func(x reconcile.Planned) error {
			return runQuietly(a, func(quiet *app) error {
				t, err := newReporter(quiet, "Destroy")
				if err != nil {
					return err
				}
				return applyOnly(ctx, quiet, t, x, reconcile.Run{Origin: r.Origin})
			})
		})
	case o.stop && !stopped:
		stop := overrideOptions{sessionArgs: named([]string{string(r.Address)}), Override: reconcile.Override{Verb: reconcile.Stop}}
		err = runQuietly(a, func(quiet *app) error { return runOverride(ctx, quiet, stop) })
		c.Stopped = err == nil
	}
	return c, err
}

// hintCleanup says how to do later what nobody can be asked now.
func hintCleanup(a *app, r session.Record, d land.Landed) {
	switch {
	case a.JSON:
	case d.Done:
		a.Say("To stop it, remove its workspace and delete the branch: agentform land " + target.Quoted(r.Address) + " --remove")
	default:
		a.Say("When it is merged and fetched: agentform land " + target.Quoted(r.Address) + " --remove")
	}
}

// askCleanup asks what is done with a session whose work is landed.
func askCleanup(a *app, r session.Record, d land.Landed, stopped bool) (remove, stop bool, err error) {
	switch {
	case d.Done && r.Tree.Created:
		a.Say(fmt.Sprintf("\nRemove %s: stop it, remove its workspace and delete the branch %s?", r.Address, d.Branch))
		fmt.Fprint(a.Err, "  yes, stop (only stop it) or no [no]: ")
	case d.Done:
		a.Say(fmt.Sprintf("\nRemove %s: stop it and remove it from the state? Its workspace and branch are kept.", r.Address))
		fmt.Fprint(a.Err, "  yes, stop (only stop it) or no [no]: ")
	case stopped:
		return false, false, nil
	default:
		fmt.Fprintf(a.Err, "\nStop %s until the pull request is merged?\n  yes or no [no]: ", r.Address)
	}
	text, err := a.Answer()
	if err != nil {
		return false, false, err
	}
	switch strings.ToLower(text) {
	case "yes", "y":
		return d.Done, !d.Done, nil
	case "stop", "s":
		return false, true, nil
	}
	return false, false, nil
}

// runQuietly runs a command whose own output, with --json, would not fit the document.
func runQuietly(a *app, run func(*app) error) error {
	if !a.JSON {
		return run(a)
	}
	s, o := *a.Streams, *a.Opener
	s.JSON, s.Out, o.Streams = false, a.Err, &s
	quiet := *a
	quiet.Opener = &o
	return run(&quiet)
}
