package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/watch"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/follow"
)

type waitOptions struct {
	sessionArgs
	watch.Goals
}

func waitCommand(a *app) *cobra.Command {
	var o waitOptions
	var goals []string
	c := &cobra.Command{
		Use:   "wait ADDR...",
		Short: "Wait for sessions to finish their turn or reach a state",
		Long: `Waits until all sessions (with --any: one) reach a state:

  turn     the agent has finished its turn and is idle
  done     the work is done: the session is finished, or the screen says so
  verified the work is verified, as its verify block asks
  blocked  the agent waits for an answer
  ready    the agent accepts a prompt

With several, as in --for=turn,blocked, whichever comes first is enough.

A turn starts with what the session was last given: its prompt, or what send typed. After
send, wait returns when the agent has answered, even if it already has; an agent gets 5 s to
start working. An agent that was given nothing yet must work first. What is typed in attach
is known only by its effect.

Agents with hooks or a session file report the end of a turn at once. Others are followed by
their title and screen, also before they write a session file.

Exit 1 if a session can no longer get there, because it is stopped, has failed or has exited,
or its agent is sent nothing more of why its work is not verified; or on timeout. Blocked sessions are reported on standard error and waited for, since someone
may answer; with --fail-on-question the exit code is 5 as soon as a session asks. With --all,
--role or --label sessions that were stopped before are left out.`,
		Example: `  agentform send api 'Add a test for that.' && agentform wait api
  agentform wait api web --timeout 30m
  agentform wait --role builder
  agentform wait --all --for verified && agentform land --all
  agentform wait api --fail-on-question && agentform land api
  agentform wait 'worker["web"]' --for=blocked --any`,
		RunE: func(c *cobra.Command, args []string) error {
			for _, g := range goals {
				if !slices.Contains(follow.Goals(), follow.Goal(g)) {
					return exit.Usage(c.CommandPath(), fmt.Errorf("--for %q: must be turn, done, verified, blocked or ready", g))
				}
				o.Of = append(o.Of, follow.Goal(g))
			}
			if o.Timeout < 0 {
				return exit.Usage(c.CommandPath(), errors.New("--timeout: must be 0 or more"))
			}
			if err := o.set(c, args); err != nil {
				return err
			}
			return runWait(c.Context(), a, o)
		},
	}
	c.Flags().StringSliceVar(&goals, "for", []string{string(follow.Turn)}, "`state` to wait for: turn, done, verified, blocked, ready, or several")
	c.Flags().Lookup("for").DefValue = string(follow.Turn) // without brackets in the help
	c.Flags().BoolVar(&o.Any, "any", false, "return when any of the sessions gets there")
	c.Flags().BoolVar(&o.FailOnQuestion, "fail-on-question", false, "exit 5 when a session asks a question")
	flags.Duration(c.Flags(), &o.Timeout, "timeout", 0, "give up after this time (default: no limit)")
	o.register(a, c, "sessions")
	completeFlag(c, "for", words("turn", "done", "verified", "blocked", "ready"))
	return c
}

func runWait(ctx context.Context, a *app, o waitOptions) error {
	f, err := openSelection(a, o.sessionArgs)
	if err != nil {
		return err
	}
	w, start := watch.NewWait(f, o.Goals, o.ByFlag()), time.Now()
	first := true
	err = followSessions(ctx, f, streams.PollInterval, o.Timeout, func(g watch.Observation) (bool, error) {
		ended, reached, err := w.See(g)
		if first {
			first = false
			reportLeftOut(a, w.Resting)
		}
		switch {
		case err != nil:
			return true, err
		case ended:
			return true, endWait(a, w, reached, false, start)
		}
		for _, x := range w.Stuck() {
			if err := waitedLine(a, a.Err, x); err != nil {
				return true, err
			}
		}
		return false, nil
	})
	if errors.Is(err, watch.ErrTimedOut) {
		return endWait(a, w, false, true, start)
	}
	return err
}

func waitedLine(a *app, to io.Writer, x view.Waited) error {
	return view.WaitedLine(to, a.Style(to), x, time.Now())
}

func endWait(a *app, w *watch.Wait, reached, timedOut bool, start time.Time) error {
	r := w.Result(reached, timedOut)
	if a.JSON {
		if err := view.WaitedJSON(a.Out, r.Sessions, r.Goals, reached, timedOut, time.Since(start)); err != nil {
			return err
		}
	} else if len(r.Sessions) == 0 {
		noneRunning(a)
	}
	for _, x := range r.Sessions {
		to := a.Err
		switch {
		case a.JSON, reached && !watch.Reached(x): // with --any one was enough
			continue
		case watch.Reached(x):
			to = a.Out
		}
		if err := waitedLine(a, to, x); err != nil {
			return err
		}
	}
	if reached && w.Any {
		return nil
	}
	return endMany(a, r.Many, a.Err, r.Errs)
}
