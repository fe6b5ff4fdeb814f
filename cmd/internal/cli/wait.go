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
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

type waitOptions struct {
	sessionArgs
	goals          []follow.Goal // one is enough
	any            bool
	failOnQuestion bool
	timeout        time.Duration
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
				o.goals = append(o.goals, follow.Goal(g))
			}
			if o.timeout < 0 {
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
	c.Flags().BoolVar(&o.any, "any", false, "return when any of the sessions gets there")
	c.Flags().BoolVar(&o.failOnQuestion, "fail-on-question", false, "exit 5 when a session asks a question")
	flags.Duration(c.Flags(), &o.timeout, "timeout", 0, "give up after this time (default: no limit)")
	o.register(a, c, "sessions")
	completeFlag(c, "for", words("turn", "done", "verified", "blocked", "ready"))
	return c
}

type waiting struct {
	app *app
	waitOptions
	named    []session.Address
	last     observation
	reported map[session.Address]string // what was said of a session on the way
	start    time.Time
}

func runWait(ctx context.Context, a *app, o waitOptions) error {
	f, err := openSelection(a, o.sessionArgs)
	if err != nil {
		return err
	}
	w := &waiting{app: a, waitOptions: o, named: f.named, reported: map[session.Address]string{}, start: time.Now()}
	err = f.follow(ctx, streams.PollInterval, o.timeout, func(g observation) (bool, error) {
		first := w.last.at.IsZero()
		w.last = g
		if first && o.ByFlag() {
			w.leaveOut()
		}
		if err := f.visible(g.sessions, o.followed()); err != nil {
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

// followed returns what each session must show.
func (o waitOptions) followed() []follow.Goal {
	if o.failOnQuestion && !slices.Contains(o.goals, follow.Blocked) {
		return slices.Concat(o.goals, []follow.Goal{follow.Blocked})
	}
	return o.goals
}

// visible fails if a session's agent does not show when it reaches one of the goals.
func (f *selection) visible(seen []api.Session, goals []follow.Goal) error {
	var errs []error
	for _, x := range seen {
		switch x.State {
		case session.StateRunning, session.StateStarting, session.StatePaused:
			for _, g := range goals {
				if err := follow.Visible(f.specs[x.Address], g); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", x.Address, err))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// leaveOut leaves out chosen sessions that were stopped before.
func (w *waiting) leaveOut() {
	var resting []session.Address
	for _, a := range w.named {
		if x := w.last.of(a); x != nil && target.Rests(x.State) && w.verdict(a) == follow.Over {
			resting = append(resting, a)
		}
	}
	w.named = slices.DeleteFunc(slices.Clone(w.named), func(a session.Address) bool { return slices.Contains(resting, a) })
	reportLeftOut(w.app, resting)
}

// verdict returns Over for a session that asks a question if nobody is to wait for the answer.
func (w *waiting) verdict(a session.Address) follow.Verdict {
	v := w.last.verdict(a, w.goals...)
	if v == follow.Waiting && w.failOnQuestion && w.last.verdict(a, follow.Blocked) == follow.Reached {
		return follow.Over
	}
	return v
}

func (w *waiting) judge() (ended, reached bool) {
	counts := map[follow.Verdict]int{}
	for _, a := range w.named {
		counts[w.verdict(a)]++
	}
	all := len(w.named)
	if w.any {
		return counts[follow.Reached] > 0 || counts[follow.Over] == all, counts[follow.Reached] > 0
	}
	return counts[follow.Reached] == all || counts[follow.Over] > 0, counts[follow.Reached] == all
}

func (w *waiting) reportProgress() error {
	for _, x := range w.last.sessions {
		if !slices.Contains(w.named, x.Address) {
			continue
		}
		now := status.Word(x)
		if w.reported[x.Address] == now {
			continue
		}
		w.reported[x.Address] = now
		if stuck(x) {
			if err := w.line(w.app.Err, view.Waited{Session: x}); err != nil {
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
	return x.Activity == session.Blocked || x.Activity == session.BlockedAPI || red(x)
}

// red reports whether a session's work fails verification, and its agent is sent nothing more.
func red(x api.Session) bool { return x.Verified != nil && x.Verified.Held }

func (w *waiting) line(to io.Writer, x view.Waited) error {
	return view.WaitedLine(to, w.app.Style(to), x, time.Now())
}

func (w *waiting) end(reached, timedOut bool) error {
	words := wordsOf(w.goals)
	var all []view.Waited
	for _, a := range w.named {
		x := api.Session{Address: a, Limits: []api.Limit{}, Actions: []api.Action{}}
		if w.last.at.IsZero() { // what has them did not answer in time
			x.State, x.Status = session.StateUnknown, session.StatusOf(session.StateUnknown, "")
		}
		if seen := w.last.of(a); seen != nil {
			x = *seen
		}
		all = append(all, view.Waited{Session: x, Outcome: string(w.verdict(a))})
	}
	if w.app.JSON {
		if err := view.WaitedJSON(w.app.Out, all, words.names, reached, timedOut, time.Since(w.start)); err != nil {
			return err
		}
	} else if err := w.lines(all, reached); err != nil {
		return err
	}
	if len(all) == 0 && !w.app.JSON {
		noneRunning(w.app)
	}
	var errs []error
	m := view.Many{Verb: words.reached, All: len(all)}
	for _, x := range all {
		switch follow.Verdict(x.Outcome) {
		case follow.Reached:
			m.Done++
		case follow.Over:
			m.Failed++
			errs = append(errs, errOver(x, words.never))
		}
	}
	switch {
	case reached && w.any:
		return nil
	case timedOut:
		errs = append(errs, fmt.Errorf("timed out after %s waiting for %s", w.timeout, words.waited))
	}
	return endMany(w.app, m, w.app.Err, errs)
}

// goalWords are what a goal is called.
type goalWords struct{ names, waited, never, reached string }

var wordsOfGoal = map[follow.Goal]goalWords{
	follow.Turn:     {"turn", "the turn to end", "finish a turn", "turn ended in"},
	follow.Done:     {"done", "the work to be done", "be done", "done:"},
	follow.Verified: {"verified", "the work to be verified", "be verified", "verified:"},
	follow.Blocked:  {"blocked", "a question", "ask", "blocked:"},
	follow.Ready:    {"ready", "the agent to be ready", "be ready", "ready:"},
}

func wordsOf(goals []follow.Goal) goalWords {
	all := wordsOfGoal[goals[0]]
	for _, g := range goals[1:] {
		w := wordsOfGoal[g]
		all = goalWords{all.names + "," + w.names, all.waited + " or " + w.waited, all.never + " or " + w.never, "reached:"}
	}
	return all
}

// questionError is the question of a session that nobody is to wait for.
type questionError struct{ address session.Address }

func (e *questionError) ExitCode() exit.Code { return exit.Asks }

func (e *questionError) Error() string {
	return fmt.Sprintf("%s asks a question\nto answer it: agentform answer %[2]s ANSWER, or agentform attach %[2]s", e.address, target.Quoted(e.address))
}

func errOver(x view.Waited, never string) error {
	switch {
	case x.State == "":
		return fmt.Errorf("%s no longer exists", x.Address)
	case x.Activity == session.Blocked:
		return &questionError{x.Address}
	case red(x.Session):
		return fmt.Errorf("%s fails verification: %s\nagentform logs %s --verify prints the output", x.Address, x.Verified.Detail, target.Quoted(x.Address))
	}
	return fmt.Errorf("%s is %s and will not %s\nagentform show %[4]s shows why, agentform restart %[4]s restarts it",
		x.Address, status.Word(x.Session), never, target.Quoted(x.Address))
}

func (w *waiting) lines(all []view.Waited, reached bool) error {
	for _, x := range all {
		to := w.app.Err
		switch {
		case x.Outcome == string(follow.Reached):
			to = w.app.Out
		case reached:
			continue // with --any one was enough
		}
		if err := w.line(to, x); err != nil {
			return err
		}
	}
	return nil
}
