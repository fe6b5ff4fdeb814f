package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/session"
)

func nextCommand(a *app) *cobra.Command {
	var role string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "next",
		Short: "Print the next session that needs attention",
		Long: `Prints the address of the session that needs attention to standard output and the reason to
standard error. It waits until there is one. The reasons are

  blocked          its agent asks something
  turn_ended       its agent has finished its turn and is idle
  blocked_api      its agent has reached a rate or usage limit
  failed           its agent reported a failure, or exited with one
  exited, stale    its agent has exited
  timeout          it was stopped after its time limit
  error            its tmux session or container is gone, or the last operation failed
  branch_mismatch  its workspace is on another branch
  stuck            its start was approved, and a problem prevents it
  unhealthy        the hub found it unhealthy and left it as it is

A blocked session comes first, then problems, then limits, then finished turns; of these the
highest priority, then the longest wait. The same session is printed until it no longer
needs attention. Sessions that are done, stopped, paused or never started need none, nor
do agents that were not given anything yet.

Exit 1 if no running session is left to wait for, or on timeout.`,
		Example: `  agentform attach "$(agentform next)"
  agentform next --role builder --timeout 10m
  agentform next --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if timeout < 0 {
				return usageError{c.CommandPath(), errors.New("--timeout: want 0 or more")}
			}
			return runNext(c.Context(), a, role, timeout)
		},
	}
	c.Flags().StringVar(&role, "role", "", "only sessions of this `role`")
	durationVar(c.Flags(), &timeout, "timeout", 0, "give up after this time (default: no limit)")
	completeFlag(c, "role", completeRoles(a))
	return c
}

func runNext(ctx context.Context, a *app, role string, timeout time.Duration) error {
	f, err := openSelection(a, nil)
	if err != nil {
		return err
	}
	f.role = role
	var last observation
	err = f.follow(ctx, pollInterval, timeout, func(g observation, follower *follow.Follower) (bool, error) {
		last = g
		if needs := follower.Needs(); len(needs) > 0 {
			return true, printNeed(a, needs[0], g)
		}
		if !follower.Hope() {
			return true, errNothingToWaitFor(role, g)
		}
		return false, nil
	})
	if errors.Is(err, errTimedOut) {
		return fmt.Errorf("no session needed anybody within %s (%s)%s", timeout, last.words(), last.waits())
	}
	return err
}

func printNeed(a *app, n follow.Need, g observation) error {
	x := *g.of(n.Address)
	needy := view.Needy{Session: x, Priority: n.Priority, Reason: string(n.Reason), Since: n.Since}
	if a.globals.json {
		return view.NeedJSON(a.env.Stdout, needy)
	}
	if _, err := fmt.Fprintln(a.env.Stdout, x.Address); err != nil {
		return err
	}
	if err := view.NeedLine(a.env.Stderr, a.err(), needy, time.Now()); err != nil {
		return err
	}
	for _, x := range g.waiting() {
		if strings.Contains(x.Detail, string(n.Address)+" ") || strings.Contains(x.Detail, string(n.Address)+",") {
			fmt.Fprintf(a.env.Stderr, "%s waits for it\n", x.Address)
		}
	}
	return nil
}

func (g observation) waiting() []api.Session {
	return slices.DeleteFunc(slices.Clone(g.sessions), func(x api.Session) bool {
		return x.State != session.StatePending || x.ID == "" || x.Detail == ""
	})
}

func (g observation) waits() string {
	text := ""
	for _, x := range g.waiting() {
		text += fmt.Sprintf("\n%s: %s", x.Address, x.Detail)
	}
	return text
}

func errNothingToWaitFor(role string, g observation) error {
	whose := ""
	if role != "" {
		whose = fmt.Sprintf(" of role %q", role)
	}
	if len(g.sessions) == 0 {
		return fmt.Errorf("there is no session%s to wait for", whose)
	}
	return fmt.Errorf("no session%s lives that could need anybody (%s)\nagentform apply starts what the manifest declares%s", whose, g.words(), g.waits())
}

func (g observation) words() string {
	words := map[string]int{}
	for _, x := range g.sessions {
		words[view.Word(x)]++
	}
	return view.Tallied(words)
}
