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
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

type overrideOptions struct {
	engine.Override
	sessionArgs
	verb string // start, stop, …
}

const resumeVerb = "resume"

// pastVerbs say what was done.
var pastVerbs = map[string]string{"start": "started", "stop": "stopped", "restart": "restarted", "pause": "paused", resumeVerb: "resumed"}

var overrides = []struct {
	verb, short, long string
	override          engine.Override
}{
	{"start", "Start stopped or exited sessions", "Starts stopped, exited and finished sessions. The conversation is resumed if the agent supports it.\nThose that are done by their finish are left out with --all, --role and --label.", engine.Override{Desired: session.Running}},
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
	var all []*cobra.Command
	for _, x := range overrides {
		o := overrideOptions{Override: x.override, verb: x.verb}
		c := &cobra.Command{
			Use:   x.verb + " ADDR...",
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
		flags := c.Flags()
		o.register(a, c, "sessions")
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
			flags.BoolVar(&o.IgnoreBudget, "ignore-budget", false, "also if it is over a budget; its budgets start over")
			flags.BoolVar(&o.Wait, "wait", false, "wait until the started sessions are ready")
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
	if o.ByFlag() && o.verb == "start" { // what is done is started by name
		named = slices.DeleteFunc(named, func(address session.Address) bool { return project.Find(s.Sessions, address).Finished != nil })
	}
	named, gone := withoutSpent(s.Sessions, named, o.ByFlag())
	spent := len(gone)
	switch {
	case spent > 0 && len(named) == 0:
		return errors.Join(gone...)
	case len(named) == 0 && len(s.Sessions) > 0 && o.ByFlag():
		fmt.Fprintf(a.Err, "No session to %s.\n", o.verb)
		return nil
	case len(named) == 0:
		fmt.Fprintln(a.Err, "No sessions in the state.")
		return nil
	}
	specs := make([]session.Spec, len(named))
	for i, address := range named {
		specs[i] = project.Find(s.Sessions, address).Spec
	}
	if err := p.Host().Tmux(specs...); err != nil {
		return err
	}
	t, err := newReporter(a, strings.ToUpper(o.verb[:1])+o.verb[1:])
	if err != nil {
		return err
	}
	r := p.Reconciler(project.ToAct)
	o.Addresses = named
	if o.Desired == session.Paused || o.verb == resumeVerb {
		living, dead, err := o.onlyLiving(ctx, r, named)
		if err != nil {
			return err
		}
		if o.Addresses = living; o.ByFlag() {
			named = living
		} else {
			gone = append(gone, dead...)
		}
	}
	if o.ByFlag() { // who names a session wants it to run
		o.MaxRunning = p.MaxRunning
	}
	var made plan.Plan
	var tally apply.Tally
	if len(o.Addresses) > 0 {
		if t.lines == nil {
			t.progress.Asked(o.verb, len(named) == 1)
		}
		r.Applier.Emit = t.event
		ctx, drain, done := a.Interruptible(ctx)
		defer done()
		made, tally, err = r.Override(ctx, o.Override, drain)
	}
	errs := append(gone, err)
	switch {
	case err != nil && len(made.Changes) == 0 && t.lines == nil:
		return errors.Join(errs...) // nothing was begun
	case t.lines != nil:
		return t.end(tally, nil, errors.Join(errs...))
	case len(named) == 0:
		fmt.Fprintf(a.Err, "No session to %s.\n", o.verb)
		return nil
	}
	a.Warn(tally.Warnings)
	if n := alive(made, tally); n > p.MaxRunning && tally.Done > 0 && o.Desired == session.Running {
		a.Say(fmt.Sprintf("%s run: more than max_running, which is %d and does not hold a session that is started by name.", plaintext.Count(n, "session"), p.MaxRunning))
	}
	if tally.Held > 0 {
		reportHub(a, p, hubNeeds(true, false))
	}
	recorded, unchanged := reportUnchanged(a, made, tally, o.Addresses, s.Sessions)
	m := view.Many{Verb: pastVerbs[o.verb], All: len(named) + spent, Done: tally.Done + recorded, Skipped: tally.Skipped, Held: tally.Held, Unchanged: unchanged}
	if m.Failed = m.All - m.Done - m.Skipped - m.Held - m.Unchanged; errors.Is(err, apply.ErrInterrupted) {
		m.Failed, m.Left = tally.Failed, m.Failed-tally.Failed
	}
	return endMany(a, m, a.Out, errs)
}

// withoutSpent returns the sessions of which more is left than that they have landed, and errors
// for the others; without them if they were not named.
func withoutSpent(records []session.Record, named []session.Address, unnamed bool) (left []session.Address, spent []error) {
	for _, address := range named {
		r := project.Find(records, address)
		switch {
		case !r.Spent():
			left = append(left, address)
		case !unnamed:
			spent = append(spent, target.Spent(*r))
		}
	}
	return left, spent
}

// alive returns how many agents run after a plan was carried out.
func alive(p plan.Plan, tally apply.Tally) (n int) {
	for _, c := range p.Changes {
		lives := c.Live != nil && c.Live.Liveness == session.Alive
		if lives || slices.ContainsFunc(tally.Results, func(r apply.Result) bool { return r.Address == c.Address && r.Started }) {
			n++
		}
	}
	return n
}

// onlyLiving leaves sessions without an agent out, with an error for each: resume must not
// start what was stopped.
func (o *overrideOptions) onlyLiving(ctx context.Context, r *engine.Engine, named []session.Address) (living []session.Address, gone []error, err error) {
	status, err := r.Inspect(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	living = slices.Clone(named)
	for _, seen := range status.Sessions {
		address := seen.Record.Address
		if !slices.Contains(living, address) || seen.Diagnosis.Alive == nil || *seen.Diagnosis.Alive ||
			o.verb == resumeVerb && plan.Desired(seen.Record) == session.Paused {
			continue
		}
		living = slices.DeleteFunc(living, func(a session.Address) bool { return a == address })
		err := fmt.Errorf("%s: %s: start it first\nagentform restart %s restarts it", address, seen.Diagnosis.Detail, target.Quoted(address))
		if seen.Diagnosis.State == session.StateStopped {
			err = fmt.Errorf("%s is stopped: start it first\nagentform start %s starts it again", address, target.Quoted(address))
		}
		gone = append(gone, err)
	}
	return living, gone, nil
}

// reportUnchanged reports sessions that needed no action, and counts them: those of which a
// change was only recorded, and those that are as they were.
func reportUnchanged(a *app, p plan.Plan, tally apply.Tally, named []session.Address, before []session.Record) (recorded, unchanged int) {
	for _, c := range p.Changes {
		acted := slices.ContainsFunc(tally.Results, func(r apply.Result) bool { return r.Address == c.Address })
		faulty := slices.ContainsFunc(p.Problems, func(d session.Diagnostic) bool {
			return d.Severity == session.Error && (d.Address == c.Address || d.Address == "") && d.Code != string(plan.ReasonUnobserved)
		})
		if !slices.Contains(named, c.Address) || acted || faulty || c.Action.Acts() || c.State == session.StateUnknown {
			continue
		}
		was := project.Find(before, c.Address)
		if c.Reason == plan.ReasonStop && was != nil && plan.Desired(*was) != session.Stopped {
			recorded++
			fmt.Fprintf(a.Out, "%s: stopped (it was not running)\n", c.Address)
			continue
		}
		detail := c.Detail
		if detail == "" {
			detail = string(c.State)
		}
		unchanged++
		fmt.Fprintf(a.Out, "%s: nothing to do (%s)\n", c.Address, plaintext.Safe(view.LocalTimes(detail, time.Now())))
	}
	return recorded, unchanged
}
