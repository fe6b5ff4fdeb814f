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

type overrideOptions struct {
	engine.Override
	verb  string // as the last line calls it: Stop
	typed []string
	all   bool
	selector
}

const resumeVerb = "Resume"

var overrides = []struct {
	verb, short, long string
	override          engine.Override
}{
	{"start", "Start stopped or exited sessions", "Starts stopped or exited sessions. The conversation is resumed if the agent supports it.", engine.Override{Desired: session.Running}},
	{"stop", "Stop sessions and all their processes", `Sends the stop signal, then SIGKILL after the grace period, and returns when all processes
are gone. Workspaces and branches are kept.

A working agent finishes its turn first if its stop block has after_turn, or with
--after-turn.`, engine.Override{Desired: session.Stopped}},
	{"restart", "Restart sessions", `Restarts sessions in any state, also finished ones.

The conversation is resumed if the agent supports it; the prompt is not sent again. If the
conversation no longer exists, the command fails without stopping anything; --fresh starts
a new one, with the prompt.`, engine.Override{Desired: session.Running, Restart: true}},
	{"pause", "Pause sessions", `Pauses sessions as their manifest says (pause { mode = … }): "detach" disconnects clients
and blocks input while the agent keeps working; "freeze" suspends its processes.`, engine.Override{Desired: session.Paused}},
	{"resume", "Resume paused sessions", "Resumes paused sessions. Use start for stopped ones.", engine.Override{Desired: session.Running}},
}

func overrideCommands(a *app) []*cobra.Command {
	all := []*cobra.Command{{
		Use:     "resume-all",
		Hidden:  true,
		Short:   "Resume all paused sessions (the same as resume --all)",
		Long:    "Resumes all paused sessions. The same as agentform resume --all.",
		Example: "  agentform resume-all",
		RunE: func(c *cobra.Command, _ []string) error {
			return runOverride(c.Context(), a, overrideOptions{verb: resumeVerb, all: true, Override: engine.Override{Desired: session.Running}})
		},
	}}
	for _, x := range overrides {
		o := overrideOptions{Override: x.override, verb: strings.ToUpper(x.verb[:1]) + x.verb[1:]}
		c := &cobra.Command{
			Use:   x.verb + " ADDR...",
			Args:  cobra.ArbitraryArgs, // or a flag that selects sessions
			Short: x.short,
			Long:  x.long + "\n\nManual changes are recorded as overrides with your name and time; the next apply removes\nthem and names you.",
			Example: fmt.Sprintf(`  agentform %[1]s api
  agentform %[1]s 'worker["web"]' docs
  agentform %[1]s --all
  agentform %[1]s --role builder --label team=shop`, x.verb),
			RunE: func(c *cobra.Command, args []string) error {
				if o.TurnLimit < 0 || o.TurnLimit > 0 && !o.AfterTurn {
					return usageError{c.CommandPath(), errors.New("--timeout says how long --after-turn waits: give both, and a time above 0")}
				}
				o.typed = args
				return runOverride(c.Context(), a, o)
			},
		}
		flags := c.Flags()
		flags.BoolVar(&o.all, "all", false, "all sessions")
		o.register(a, c, "the sessions")
		if o.Desired == session.Stopped || o.Restart {
			afterTurnFlag(flags, &o.AfterTurn, &o.TurnLimit)
		}
		switch {
		case o.Desired == session.Stopped:
			c.Aliases = []string{"terminate", "kill"}
			durationVar(flags, &o.TurnLimit, "timeout", 0, "with --after-turn: maximum wait; then the session is stopped anyway (default: the manifest's after_turn, or 5m)")
		case o.Restart:
			flags.BoolVar(&o.Fresh, "fresh", false, "start a new conversation with the initial prompt")
		}
		if o.Desired == session.Running {
			flags.BoolVar(&o.Wait, "wait", false, "wait until the started sessions are ready")
		}
		all = append(all, c)
	}
	return all
}

func runOverride(ctx context.Context, a *app, o overrideOptions) error {
	p, s, err := a.openState()
	if err != nil {
		return err
	}
	if o.Addresses, err = o.named(p.Manifest.Sessions, s.Sessions); err != nil {
		return err
	}
	if len(o.Addresses) == 0 {
		fmt.Fprintln(a.env.Stderr, "No sessions in the state.")
		return nil
	}
	var specs []session.Spec
	for _, address := range o.Addresses {
		specs = append(specs, project.Find(s.Sessions, address).Spec)
	}
	if err := p.Host().Tmux(specs...); err != nil {
		return err
	}
	t, err := newReporter(a, o.verb)
	if err != nil {
		return err
	}
	r := p.Reconciler(project.ToAct)
	if o.Desired == session.Paused || o.verb == resumeVerb {
		if err := o.onlyLiving(ctx, r); err != nil {
			return err
		}
		if len(o.Addresses) == 0 {
			fmt.Fprintf(a.env.Stderr, "No session to %s.\n", strings.ToLower(o.verb))
			if t.lines != nil {
				return t.end(apply.Tally{}, nil, nil)
			}
			return nil
		}
	}
	r.Applier.Emit = t.event
	ctx, drain, done := interruptible(ctx, a)
	defer done()
	made, tally, err := r.Override(ctx, o.Override, drain)
	if err == nil && len(tally.Results) == 0 && t.lines == nil {
		reportUnchanged(a, made, o.Addresses, s.Sessions)
		return nil
	}
	return t.end(tally, nil, err)
}

func (o *overrideOptions) named(specs []session.Spec, records []session.Record) ([]session.Address, error) {
	byFlag := o.all || o.given()
	switch {
	case byFlag && len(o.typed) > 0:
		return nil, errors.New("give addresses, or --all, --role or --label: not both")
	case !byFlag && len(o.typed) == 0:
		return nil, errors.New("give an address, or --all, --role or --label")
	case !byFlag:
		return resolveRecorded(specs, records, o.typed)
	}
	if o.given() {
		return o.match(nil, records)
	}
	return addresses(nil, records), nil
}

func resolveRecorded(specs []session.Spec, records []session.Record, typed []string) ([]session.Address, error) {
	all, err := resolveAll(addresses(specs, records), typed)
	errs := []error{err}
	for _, address := range all {
		if project.Find(records, address) == nil {
			errs = append(errs, errNotApplied(address))
		}
	}
	return all, errors.Join(errs...)
}

// onlyLiving leaves sessions without an agent out: resume must not start what was stopped.
func (o *overrideOptions) onlyLiving(ctx context.Context, r *engine.Engine) error {
	status, err := r.Inspect(ctx, false)
	if err != nil {
		return err
	}
	var gone []error
	living := slices.Clone(o.Addresses)
	for _, seen := range status.Sessions {
		address := seen.Record.Address
		if !slices.Contains(living, address) || seen.Diagnosis.Alive == nil || *seen.Diagnosis.Alive ||
			o.verb == resumeVerb && plan.Desired(seen.Record) == session.Paused {
			continue
		}
		living = slices.DeleteFunc(living, func(a session.Address) bool { return a == address })
		err := fmt.Errorf("%s: %s: start it first\nagentform restart %s restarts it", address, seen.Diagnosis.Detail, quoted(address))
		if seen.Diagnosis.State == session.StateStopped {
			err = fmt.Errorf("%s is stopped: start it first\nagentform start %s starts it", address, quoted(address))
		}
		gone = append(gone, err)
	}
	if len(gone) > 0 && len(o.typed) > 0 {
		return errors.Join(gone...)
	}
	o.Addresses = living
	return nil
}

// reportUnchanged also reports changes that were only recorded.
func reportUnchanged(a *app, p plan.Plan, addresses []session.Address, before []session.Record) {
	for _, c := range p.Changes {
		if slices.Contains(addresses, c.Address) {
			was := project.Find(before, c.Address)
			if c.Reason == plan.ReasonStop && was != nil && plan.Desired(*was) != session.Stopped {
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
