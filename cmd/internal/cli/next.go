package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/watch"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/turn"
)

func nextCommand(a *app) *cobra.Command {
	var o nextOptions
	c := &cobra.Command{
		Use:   "next",
		Short: "Print the next session that needs attention",
		Long: `Prints the address of the session that needs attention to standard output and the reason to
standard error. It waits until there is one. The reasons are

  blocked          its agent asks something
  turn_ended       its agent has finished its turn and is idle
  turn_interrupted its turn was cut off, as by a restart, and it is idle since
  blocked_api      its agent has reached a rate or usage limit
  failed           its agent reported a failure, or exited with one
  exited, stale    its agent has exited
  timeout          it was stopped after its time limit
  error            its tmux session or container is gone, or the last operation failed
  branch_mismatch  its workspace is on another branch
  stuck            its start was approved, and a problem prevents it
  unhealthy        the hub found it unhealthy and left it as it is
  verification_failed
                   its work fails verification, and its agent is sent nothing more
  pr_held          its pull request needs you, and its agent is sent nothing more

A blocked session comes first, then problems, then limits, then finished turns; of these the
highest priority, then the longest wait. The same session is printed until it no longer
needs attention. --all prints all of them in this order, which is that of agentform status,
with the reason on one line each. Sessions that are done, stopped, paused or never started
need none, nor do agents that were not given anything yet.

Exit 1 if no running session is left to wait for, or on timeout.`,
		Example: `  agentform attach "$(agentform next)"
  agentform next --role builder --timeout 10m
  agentform next --all
  agentform next -o template='{{.address}} {{.reason}}'`,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.timeout < 0 {
				return exit.Usage(c.CommandPath(), errors.New("--timeout: must be 0 or more"))
			}
			return runNext(c.Context(), a, o)
		},
	}
	c.Flags().BoolVar(&o.all, "all", false, "print all sessions that need attention")
	c.Flags().StringVar(&o.role, "role", "", "only sessions of this `role`")
	flags.Duration(c.Flags(), &o.timeout, "timeout", 0, "give up after this time (default: no limit)")
	completeFlag(c, "role", completeRoles(a))
	outputFlag(a, c)
	return c
}

type nextOptions struct {
	role    string
	timeout time.Duration
	all     bool
}

func runNext(ctx context.Context, a *app, o nextOptions) error {
	f, err := openSelection(a, sessionArgs{})
	if err != nil {
		return err
	}
	f.Role = o.role
	var first time.Time
	var last watch.Observation
	told := a.JSON || !streams.IsTerminal(a.Err)
	err = followSessions(ctx, f, streams.PollInterval, o.timeout, func(g watch.Observation) (bool, error) {
		if last = g; first.IsZero() {
			first = g.At
		}
		switch needs := follow.Needs(g.Sights); {
		case len(needs) > 0 && !o.all:
			return true, printNeed(a, needs[0], g)
		case len(needs) > 0:
			if g.At.Sub(first) < turn.Calm {
				return false, nil // others have not been so for long enough yet
			}
			return true, printNeeds(a, needs, g)
		case !follow.Hope(g.Sights):
			return true, watch.ErrNothingToWaitFor(o.role, g)
		case !told && g.At.Sub(first) >= turn.Calm: // one that asks may be drawing its question
			told = true
			fmt.Fprintf(a.Err, "No session needs attention (%s). Waiting: Ctrl-C ends it.\n", g.Words())
		}
		return false, nil
	})
	if errors.Is(err, watch.ErrTimedOut) {
		return fmt.Errorf("no session needed attention within %s (%s)%s", o.timeout, last.Words(), last.Waits())
	}
	return err
}

// printNeed prints the address to standard output, and why to standard error.
func printNeed(a *app, n follow.Need, g watch.Observation) error {
	if a.JSON {
		return view.NeedJSON(a.Out, g.Needy(n))
	}
	if _, err := fmt.Fprintln(a.Out, n.Address); err != nil {
		return err
	}
	if err := view.NeedLine(a.Err, a.ErrStyle(), g.Needy(n), time.Now()); err != nil {
		return err
	}
	for _, x := range g.Waiting() {
		if strings.Contains(x.Detail, string(n.Address)+" ") || strings.Contains(x.Detail, string(n.Address)+",") {
			fmt.Fprintf(a.Err, "%s waits for it\n", x.Address)
		}
	}
	return nil
}

func printNeeds(a *app, needs []follow.Need, g watch.Observation) error {
	if a.JSON {
		all := make([]view.Needy, len(needs))
		for i, n := range needs {
			all[i] = g.Needy(n)
		}
		return view.NeedsJSON(a.Out, all)
	}
	for _, n := range needs {
		if !streams.IsTerminal(a.Out) { // at one, the rows name the sessions
			if _, err := fmt.Fprintln(a.Out, n.Address); err != nil {
				return err
			}
		}
		if err := view.NeedRow(a.Err, a.ErrStyle(), g.Needy(n), time.Now()); err != nil {
			return err
		}
	}
	return nil
}
