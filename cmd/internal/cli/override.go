package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

type handOptions struct {
	hand  engine.Override
	verb  string // as the last line calls it: Stop
	typed []string
	all   bool
	selector
}

// resume is the verb that starts nothing.
const resume = "Resume"

// handCommand returns a command that overrides what the manifest wants.
func handCommand(a *app, verb, short, long string, hand engine.Override) *cobra.Command {
	o := handOptions{hand: hand, verb: strings.ToUpper(verb[:1]) + verb[1:]}
	c := &cobra.Command{
		Use:   verb + " ADDR...",
		Short: short,
		Long: long + `

What is done by hand is on record with your name and the time. The next apply lifts
what the manifest does not say, and names you.`,
		Example: fmt.Sprintf(`  agentform %[1]s api
  agentform %[1]s 'worker["web"]' docs
  agentform %[1]s --all
  agentform %[1]s --role builder --label team=shop`, verb),
		Annotations:       withJSON(),
		ValidArgsFunction: completeAddresses(a, 0),
		RunE: func(c *cobra.Command, args []string) error {
			if o.hand.TurnLimit < 0 || o.hand.TurnLimit > 0 && !o.hand.AfterTurn {
				return usageError{c.CommandPath(), errors.New("--timeout says how long --after-turn waits: give both, and a time above 0")}
			}
			o.typed = args
			return runHand(c.Context(), a, o)
		},
	}
	flags := c.Flags()
	flags.BoolVar(&o.all, "all", false, "every session on record")
	o.register(a, c, "the sessions")
	if hand.Desired == session.Stopped {
		c.Aliases = []string{"terminate", "kill"}
		afterTurnFlag(flags, &o.hand.AfterTurn, &o.hand.TurnLimit)
		durationVar(flags, &o.hand.TurnLimit, "timeout", 0, "longest wait for the turn's end, with --after-turn; then it is stopped all the same (default: the manifest's after_turn, or 5m)")
	}
	if hand.Restart {
		afterTurnFlag(flags, &o.hand.AfterTurn, &o.hand.TurnLimit)
		flags.BoolVar(&o.hand.Fresh, "fresh", false, "begin a fresh conversation, with the prompt")
	}
	if hand.Desired == session.Running {
		flags.BoolVar(&o.hand.Wait, "wait", false, "return when every session that was started is ready")
	}
	return c
}

func startCommand(a *app) *cobra.Command {
	return handCommand(a, "start", "Start sessions that were stopped, or whose agent is gone",
		"Starts sessions again, with their conversation where the agent can go on with it.",
		engine.Override{Desired: session.Running})
}

func stopCommand(a *app) *cobra.Command {
	return handCommand(a, "stop", "Stop sessions, and see that nothing of them is left",
		`Ends the agents with their stop signal, after the grace with SIGKILL, and returns when
it has seen that nothing is left of them. Their workspaces and branches stay.

An agent that is at work is let end its turn first if its stop block says so
(after_turn), or with --after-turn.`,
		engine.Override{Desired: session.Stopped})
}

func restartCommand(a *app) *cobra.Command {
	return handCommand(a, "restart", "Start sessions again, whatever their state",
		`Stops the agents if they live and starts them again, also those that finished.

They go on with their conversation where their agent keeps it, and are not given their
prompt a second time. If the conversation is gone that is an error, and nothing is
stopped: --fresh begins a new one, with the prompt.`,
		engine.Override{Desired: session.Running, Restart: true})
}

func pauseCommand(a *app) *cobra.Command {
	return handCommand(a, "pause", "Pause sessions",
		`Pauses sessions as their manifest says (pause { mode = … }): "detach" takes clients
off and refuses input while the agent works on, "freeze" makes its processes stand
still.`, engine.Override{Desired: session.Paused})
}

func resumeCommand(a *app) *cobra.Command {
	return handCommand(a, "resume", "Let paused sessions go on",
		`Lets paused sessions go on: input is taken again, frozen processes run on. What was
stopped is for start.`,
		engine.Override{Desired: session.Running})
}

func resumeAllCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "resume-all",
		Short:       "Let every paused session go on (the same as resume --all)",
		Long:        "Lets every session that is paused go on. The same as agentform resume --all.",
		Example:     "  agentform resume-all",
		Args:        arguments(0, 0),
		Annotations: withJSON(),
		RunE: func(c *cobra.Command, _ []string) error {
			return runHand(c.Context(), a, handOptions{verb: resume, all: true, hand: engine.Override{Desired: session.Running}})
		},
	}
}

func runHand(ctx context.Context, a *app, o handOptions) error {
	p, s, err := a.openState()
	if err != nil {
		return err
	}
	if o.hand.Addresses, err = o.meant(p.Manifest.Sessions, s.Sessions); err != nil {
		return err
	}
	if len(o.hand.Addresses) == 0 {
		fmt.Fprintln(a.env.Stderr, "No session on record is meant: nothing was done.")
		return nil
	}
	var specs []session.Spec
	for _, address := range o.hand.Addresses {
		specs = append(specs, project.Find(s.Sessions, address).Spec)
	}
	if err := p.Host().Tmux(specs...); err != nil {
		return err
	}
	t, err := newTeller(a, o.verb)
	if err != nil {
		return err
	}
	r := p.Reconciler(project.ToAct)
	if o.hand.Desired == session.Paused || o.verb == resume {
		if err := o.onlyLiving(ctx, r); err != nil {
			return err
		}
		if len(o.hand.Addresses) == 0 {
			fmt.Fprintf(a.env.Stderr, "No session to %s: nothing was done.\n", strings.ToLower(o.verb))
			if t.lines != nil {
				return t.end(apply.Tally{}, nil, nil)
			}
			return nil
		}
	}
	r.Applier.Emit = t.event
	ctx, drain, done := interruptible(ctx, a)
	defer done()
	made, tally, err := r.Override(ctx, o.hand, drain)
	if err == nil && len(tally.Results) == 0 && t.lines == nil {
		alreadySo(a, made, o.hand.Addresses, s.Sessions)
		return nil
	}
	return t.end(tally, nil, err)
}

// meant returns the recorded sessions that the arguments and flags name.
func (o *handOptions) meant(specs []session.Spec, records []session.Record) ([]session.Address, error) {
	byFlag := o.all || o.given()
	switch {
	case byFlag && len(o.typed) > 0:
		return nil, errors.New("name sessions, or choose them with --all, --role and --label: not both")
	case !byFlag && len(o.typed) == 0:
		return nil, errors.New("no session is named: give an address, or --all, --role or --label")
	case !byFlag:
		return recordedOnly(specs, records, o.typed)
	}
	if o.given() {
		return o.choose(nil, records)
	}
	return addresses(nil, records), nil
}

// recordedOnly returns the recorded sessions that typed addresses name.
func recordedOnly(specs []session.Spec, records []session.Record, typed []string) ([]session.Address, error) {
	all, err := resolveAll(addresses(specs, records), typed)
	errs := []error{err}
	for _, address := range all {
		if project.Find(records, address) == nil {
			errs = append(errs, errNotApplied(address))
		}
	}
	return all, errors.Join(errs...)
}

// onlyLiving removes the sessions without an agent to pause or, unless they are paused, to
// resume: resume must not start what was stopped. A session that was named is an error.
func (o *handOptions) onlyLiving(ctx context.Context, r *engine.Engine) error {
	status, err := r.Inspect(ctx, false)
	if err != nil {
		return err
	}
	var gone []error
	living := slices.Clone(o.hand.Addresses)
	for _, seen := range status.Sessions {
		address := seen.Record.Address
		if !slices.Contains(living, address) || seen.Diagnosis.Alive == nil || *seen.Diagnosis.Alive ||
			o.verb == resume && engine.Desired(seen.Record) == session.Paused {
			continue
		}
		living = slices.DeleteFunc(living, func(a session.Address) bool { return a == address })
		err := fmt.Errorf("%s: %s: start it first\nagentform restart %s starts it again", address, seen.Diagnosis.Detail, quoted(address))
		if seen.Diagnosis.State == session.StateStopped {
			err = fmt.Errorf("%s is stopped: start it first\nagentform start %s runs it again", address, quoted(address))
		}
		gone = append(gone, err)
	}
	if len(gone) > 0 && len(o.typed) > 0 {
		return errors.Join(gone...)
	}
	o.hand.Addresses = living
	return nil
}

// alreadySo reports on sessions that already are as they should be, and on changes that
// were only recorded. before has the records as they were.
func alreadySo(a *app, p plan.Plan, told []session.Address, before []session.Record) {
	for _, c := range p.Changes {
		if slices.Contains(told, c.Address) {
			was := project.Find(before, c.Address)
			if c.Reason == plan.ReasonStop && was != nil && engine.Desired(*was) != session.Stopped {
				fmt.Fprintf(a.env.Stdout, "%s: stopped (it was not running)\n", c.Address)
				continue
			}
			detail := c.Detail
			if detail == "" {
				detail = string(c.State)
			}
			fmt.Fprintf(a.env.Stdout, "%s: nothing to do (%s)\n", c.Address, plaintext.Safe(view.LocalTimes(detail, time.Now())))
		}
	}
}
