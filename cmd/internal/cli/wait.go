package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

type waitOptions struct {
	goal    follow.Goal
	any     bool
	timeout time.Duration
}

func waitCommand(a *app) *cobra.Command {
	o := waitOptions{goal: follow.Turn}
	goal := string(follow.Turn)
	c := &cobra.Command{
		Use:   "wait ADDR...",
		Short: "Wait for sessions to finish their turn or reach a state",
		Long: `Waits until all sessions (with --any: one) reach a state:

  turn     the agent has finished its turn and is idle
  done     the work is done: a one-shot agent exited with 0, or the screen says so
  blocked  the agent waits for an answer
  ready    the agent accepts a prompt

A turn starts with what the session was last given: its prompt, or what send typed. After
send, wait returns when the agent has answered, even if it already has; an agent gets 5 s to
start working. An agent that was given nothing yet must work first. What is typed in attach
is known only by its effect.

Agents with hooks or a session file report the end of a turn at once. Others are followed by
their title and screen, also before they write a session file.

Exit 1 if a session can no longer get there, because it is stopped, has failed or has exited,
or on timeout. Blocked sessions are reported on standard error.`,
		Example: `  agentform send api 'Add a test for that.' && agentform wait api
  agentform wait api web --timeout 30m
  agentform wait 'worker["web"]' --for=blocked --any`,
		RunE: func(c *cobra.Command, args []string) error {
			o.goal = follow.Goal(goal)
			switch {
			case !slices.Contains(follow.Goals(), o.goal):
				return usageError{c.CommandPath(), fmt.Errorf("--for %q: must be turn, done, blocked or ready", goal)}
			case o.timeout < 0:
				return usageError{c.CommandPath(), errors.New("--timeout: must be 0 or more")}
			}
			return runWait(c.Context(), a, args, o)
		},
	}
	c.Flags().StringVar(&goal, "for", goal, "state to wait for: turn, done, blocked, ready")
	c.Flags().BoolVar(&o.any, "any", false, "return when any of the sessions gets there")
	durationVar(c.Flags(), &o.timeout, "timeout", 0, "give up after this time (default: no limit)")
	completeFlag(c, "for", words("turn", "done", "blocked", "ready"))
	return c
}

type waiting struct {
	app *app
	waitOptions
	named    []session.Address
	follower *follow.Follower
	last     observation
	reported map[session.Address]string // what was said of a session on the way
	start    time.Time
}

func runWait(ctx context.Context, a *app, typed []string, o waitOptions) error {
	f, err := openSelection(a, typed)
	if err != nil {
		return err
	}
	w := &waiting{app: a, waitOptions: o, named: f.named, follower: &follow.Follower{}, reported: map[session.Address]string{}, start: time.Now()}
	err = f.follow(ctx, pollInterval, o.timeout, func(g observation, follower *follow.Follower) (bool, error) {
		w.last, w.follower = g, follower
		if err := f.visible(g.sessions, o.goal); err != nil {
			return true, err
		}
		if ended, reached := w.judge(); ended {
			return true, w.end(reached, false)
		}
		return false, w.reportProgress()
	})
	if errors.Is(err, errTimedOut) {
		return w.end(false, true)
	}
	return err
}

// visible fails if a session's agent does not show when it reaches a goal.
func (f *selection) visible(seen []api.Session, g follow.Goal) error {
	var errs []error
	for _, x := range seen {
		switch x.State {
		case session.StateRunning, session.StateStarting, session.StatePaused:
			if err := follow.Visible(f.agents[x.Address], g); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", x.Address, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (w *waiting) judge() (ended, reached bool) {
	counts := map[follow.Verdict]int{}
	for _, a := range w.named {
		counts[w.follower.Verdict(a, w.goal)]++
	}
	all := len(w.named)
	if w.any {
		return counts[follow.Reached] > 0 || counts[follow.Over] == all, counts[follow.Reached] > 0
	}
	return counts[follow.Reached] == all || counts[follow.Over] > 0, counts[follow.Reached] == all
}

func (w *waiting) reportProgress() error {
	for _, x := range w.last.sessions {
		now := status.Word(x)
		if w.reported[x.Address] == now {
			continue
		}
		w.reported[x.Address] = now
		if stuck(x) {
			if err := w.line(w.app.env.Stderr, view.Waited{Session: x}); err != nil {
				return err
			}
		}
	}
	return nil
}

func stuck(x api.Session) bool {
	switch x.State {
	case session.StatePaused, session.StatePending, session.StateUnknown:
		return true
	}
	return x.Activity == session.Blocked || x.Activity == session.BlockedAPI
}

func (w *waiting) line(to io.Writer, x view.Waited) error {
	return view.WaitedLine(to, w.app.style(to), x, time.Now())
}

func (w *waiting) end(reached, timedOut bool) error {
	var all []view.Waited
	for _, a := range w.named {
		x := api.Session{Address: a}
		if seen := w.last.of(a); seen != nil {
			x = *seen
		}
		all = append(all, view.Waited{Session: x, Outcome: string(w.follower.Verdict(a, w.goal))})
	}
	if w.app.globals.json {
		if err := view.WaitedJSON(w.app.env.Stdout, all, string(w.goal), reached, timedOut, time.Since(w.start)); err != nil {
			return err
		}
	} else if err := w.lines(all, reached); err != nil {
		return err
	}
	switch {
	case reached:
		return nil
	case timedOut:
		return fmt.Errorf("--for=%s: not reached within %s", w.goal, w.timeout)
	}
	return w.errOver(all)
}

func (w *waiting) errOver(all []view.Waited) error {
	var errs []error
	for _, x := range all {
		switch {
		case x.Outcome != string(follow.Over):
		case x.State == "":
			errs = append(errs, fmt.Errorf("%s is gone: there is nothing to wait for", x.Address))
		default:
			errs = append(errs, fmt.Errorf("%s is %s and cannot reach --for=%s\nagentform show %[4]s shows why, agentform restart %[4]s restarts it",
				x.Address, status.Word(x.Session), w.goal, quoted(x.Address)))
		}
	}
	return errors.Join(errs...)
}

func (w *waiting) lines(all []view.Waited, reached bool) error {
	for _, x := range all {
		to := w.app.env.Stderr
		switch {
		case x.Outcome == string(follow.Reached):
			to = w.app.env.Stdout
		case reached:
			continue // with --any one was enough
		}
		if err := w.line(to, x); err != nil {
			return err
		}
	}
	return nil
}
