package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
)

type overrideOptions struct {
	reconcile.Override
	sessionArgs
}

var overrides = []struct {
	verb        reconcile.Verb
	short, long string
}{
	{reconcile.Start, "Start stopped or exited sessions", "Starts stopped, exited and finished sessions. The conversation is resumed if the agent supports it.\nThose that are done by their finish are left out with --all, --role and --label."},
	{reconcile.Stop, "Stop sessions and all their processes", `Sends the stop signal, then SIGKILL after the grace period, and returns when all processes
are gone. Workspaces and branches are kept.

A working agent finishes its turn first if its stop block has after_turn, or with
--after-turn.`},
	{reconcile.Restart, "Restart sessions", `Restarts sessions in any state, also finished ones.

The conversation is resumed if the agent supports it; the prompt is not sent again. If the
conversation no longer exists, the command fails without stopping anything; --fresh starts
a new one, with the prompt.`},
	{reconcile.Pause, "Pause sessions", `Pauses sessions as their manifest says (pause { mode = … }): "detach" disconnects clients
and blocks input while the agent keeps working; "freeze" suspends its processes.`},
	{reconcile.Resume, "Resume paused sessions", "Resumes paused sessions. Use start for stopped ones."},
}

func overrideCommands(a *app) []*cobra.Command {
	var all []*cobra.Command
	for _, x := range overrides {
		o := overrideOptions{Override: reconcile.Override{Verb: x.verb}}
		c := &cobra.Command{
			Use:   string(x.verb) + " ADDR...",
			Short: x.short,
			Long:  x.long + "\n\nManual changes are recorded as overrides with your name and time; the next apply removes\nthem and names you.",
			Example: fmt.Sprintf(`  agentform %[1]s api
  agentform %[1]s 'worker["web"]' docs
  agentform %[1]s --all
  agentform %[1]s --role builder --label team=shop`, x.verb),
			RunE: func(c *cobra.Command, args []string) error {
				if o.TurnLimit < 0 || o.TurnLimit > 0 && !o.AfterTurn {
					return exit.Usage(c.CommandPath(), errors.New("--timeout is for --after-turn: give both, and a time above 0"))
				}
				if err := o.set(c, args); err != nil {
					return err
				}
				return runOverride(c.Context(), a, o)
			},
		}
		set := c.Flags()
		o.register(a, c, "sessions")
		if o.Verb == reconcile.Stop || o.Verb == reconcile.Restart {
			flags.AfterTurn(set, &o.AfterTurn, &o.TurnLimit)
		}
		switch {
		case o.Verb == reconcile.Stop:
			c.Aliases = []string{"terminate", "kill"}
			flags.Duration(set, &o.TurnLimit, "timeout", 0, "with --after-turn: maximum wait; then the session is stopped anyway (default: the manifest's after_turn, or 5m)")
		case o.Verb == reconcile.Restart:
			set.BoolVar(&o.Fresh, "fresh", false, "start a new conversation with the initial prompt")
		}
		if o.Verb.Starts() {
			set.BoolVar(&o.IgnoreBudget, "ignore-budget", false, "also if it is over a budget; its budgets start over")
			set.BoolVar(&o.Wait, "wait", false, "wait until the started sessions are ready")
		}
		all = append(all, c)
	}
	return all
}

func runOverride(ctx context.Context, a *app, o overrideOptions) error {
	p, s, named, err := o.open(a)
	if err != nil {
		return err
	}
	o.Override.ByFlag = o.sessionArgs.ByFlag()
	x, err := o.Choose(ctx, p, s, named)
	switch {
	case err != nil:
		return err
	case x.None() && len(s.Sessions) == 0:
		fmt.Fprintln(a.Err, "No sessions in the state.")
		return nil
	case x.None():
		return noSessionTo(a, o.Verb)
	}
	t, err := newReporter(a, strings.ToUpper(string(o.Verb[:1]))+string(o.Verb[1:]))
	if err != nil {
		return err
	}
	t.Asked(string(o.Verb), len(x.Named) == 1)
	ctx, drain, stop := a.Interruptible(ctx)
	defer stop()
	done := x.Do(ctx, drain, t.Event)
	switch {
	case a.JSON:
		return t.End(done.Tally, nil, errors.Join(done.Errs...))
	case done.NothingBegun():
		return errors.Join(done.Errs...)
	case len(x.Named) == 0:
		return noSessionTo(a, o.Verb)
	}
	a.Warn(done.Warnings)
	if n := done.Surplus(); n > 0 {
		a.Say(fmt.Sprintf("%s run: more than max_running, which is %d and does not hold a session that is started by name.", plaintext.Count(n, "session"), p.MaxRunning))
	}
	if needs := done.HubNeeds(); len(needs) > 0 {
		reportHub(a, p, needs)
	}
	unacted := done.Unacted()
	for _, u := range unacted {
		if u.Recorded {
			fmt.Fprintf(a.Out, "%s: stopped (it was not running)\n", u.Address)
		} else {
			fmt.Fprintf(a.Out, "%s: nothing to do (%s)\n", u.Address, plaintext.Safe(view.LocalTimes(u.Detail, time.Now())))
		}
	}
	return endMany(a, done.Summary(unacted), a.Out, done.Errs)
}

func noSessionTo(a *app, verb reconcile.Verb) error {
	fmt.Fprintf(a.Err, "No session to %s.\n", verb)
	return nil
}
