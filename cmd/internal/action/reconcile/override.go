package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Verb is a manual override of sessions, named after its command.
type Verb string

// The verbs.
const (
	Start   Verb = "start"
	Stop    Verb = "stop"
	Restart Verb = "restart"
	Pause   Verb = "pause"
	Resume  Verb = "resume"
)

func (v Verb) desired() session.Desired {
	switch v {
	case Stop:
		return session.Stopped
	case Pause:
		return session.Paused
	}
	return session.Running
}

// Starts reports whether the verb can start agents.
func (v Verb) Starts() bool { return v.desired() == session.Running }

// Past returns the past participle, such as stopped.
func (v Verb) Past() string {
	return map[Verb]string{Start: "started", Stop: "stopped", Restart: "restarted", Pause: "paused", Resume: "resumed"}[v]
}

// Override is a command line's override of named sessions.
type Override struct {
	Verb   Verb
	ByFlag bool // flags select the sessions, not addresses
	// AfterTurn lets a running turn end first, for TurnLimit at most; 0: as in the manifest.
	AfterTurn bool
	TurnLimit time.Duration
	// Fresh starts a new conversation, IgnoreBudget resets the budgets, and Wait waits until the
	// started sessions are ready.
	Fresh, IgnoreBudget, Wait bool
}

// Chosen are the sessions of an override.
type Chosen struct {
	Override
	Named   []session.Address
	Refused []error // for named sessions to which the verb does not apply

	spent   int // how many of the refused have landed
	acting  []session.Address
	project *project.Project
	before  []session.Record
	engine  *engine.Engine
}

// Choose selects the sessions to which the verb applies. With an error there are none.
func (o Override) Choose(ctx context.Context, p *project.Project, s state.State, named []session.Address) (*Chosen, error) {
	if o.ByFlag && o.Verb == Start { // a finished session is started by name
		named = slices.DeleteFunc(named, func(address session.Address) bool { return project.Find(s.Sessions, address).Finished != nil })
	}
	x := &Chosen{Override: o, project: p, before: s.Sessions}
	x.Named, x.Refused = withoutSpent(s.Sessions, named, o.ByFlag)
	x.acting, x.spent = x.Named, len(x.Refused)
	if len(x.Named) == 0 {
		return x, errors.Join(x.Refused...)
	}
	specs := make([]session.Spec, len(x.Named))
	for i, address := range x.Named {
		specs[i] = project.Find(s.Sessions, address).Spec
	}
	if err := p.Host().Tmux(specs...); err != nil {
		return x, err
	}
	x.engine = p.Reconciler(project.ToAct)
	if o.Verb != Pause && o.Verb != Resume {
		return x, nil
	}
	living, dead, err := onlyLiving(ctx, x.engine, x.Named, o.Verb)
	if err != nil {
		return x, err
	}
	if x.acting = living; o.ByFlag {
		x.Named = living
	} else {
		x.Refused = append(x.Refused, dead...)
	}
	return x, nil
}

// None reports whether the verb applies to no session.
func (x *Chosen) None() bool { return x.engine == nil }

// withoutSpent returns the sessions that have more left than landed work, and errors for the
// others, or with unnamed no errors.
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

// onlyLiving returns the sessions with which a verb can be carried out, and an error for each other.
func onlyLiving(ctx context.Context, r *engine.Engine, named []session.Address, verb Verb) (living []session.Address, gone []error, err error) {
	all, err := r.Inspect(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	living = slices.Clone(named)
	for _, seen := range all.Sessions {
		address := seen.Record.Address
		is := seen.Diagnosis
		if !slices.Contains(living, address) || status.Allows(api.Action(verb), is.State, is.Alive, plan.Desired(seen.Record)) {
			continue
		}
		living = slices.DeleteFunc(living, func(a session.Address) bool { return a == address })
		err := fmt.Errorf("%s: %s: start it first\nagentform restart %s restarts it", address, is.Detail, target.Quoted(address))
		if is.State == session.StateStopped {
			err = fmt.Errorf("%s is stopped: start it first\nagentform start %s starts it again", address, target.Quoted(address))
		}
		gone = append(gone, err)
	}
	return living, gone, nil
}

// Overridden is an override that was carried out.
type Overridden struct {
	apply.Tally
	Errs   []error
	chosen *Chosen
	plan   plan.Plan
	failed error
}

// Do carries out the override. If drain is closed, it begins nothing more.
func (x *Chosen) Do(ctx context.Context, drain <-chan struct{}, emit func(history.Event)) *Overridden {
	done := &Overridden{chosen: x}
	if len(x.acting) > 0 {
		x.engine.Applier.Emit = emit
		o := engine.Override{
			Addresses: x.acting, Desired: x.Verb.desired(), Restart: x.Verb == Restart, Fresh: x.Fresh,
			AfterTurn: x.AfterTurn, TurnLimit: x.TurnLimit, IgnoreBudget: x.IgnoreBudget, Wait: x.Wait,
		}
		if x.ByFlag { // naming a session declares that it should run
			o.MaxRunning = x.project.MaxRunning
		}
		done.plan, done.Tally, done.failed = x.engine.Override(ctx, o, drain)
	}
	done.Errs = append(x.Refused, done.failed)
	return done
}

// NothingBegun reports whether the override failed before it began.
func (d *Overridden) NothingBegun() bool { return d.failed != nil && len(d.plan.Changes) == 0 }

// Surplus returns the number of running agents if it exceeds max_running and the override started
// some.
func (d *Overridden) Surplus() int {
	alive := 0
	for _, c := range d.plan.Changes {
		lives := c.Live != nil && c.Live.Liveness == session.Alive
		if lives || slices.ContainsFunc(d.Results, func(r apply.Result) bool { return r.Address == c.Address && r.Started }) {
			alive++
		}
	}
	if alive <= d.chosen.project.MaxRunning || d.Done == 0 || !d.chosen.Verb.Starts() {
		return 0
	}
	return alive
}

// HubNeeds returns the remaining work that only a hub does.
func (d *Overridden) HubNeeds() []string { return hubNeeds(d.Held > 0, false) }

// Unacted is a session that needed no action.
type Unacted struct {
	Address  session.Address
	Recorded bool   // as stopped: it was not running
	Detail   string // the session's state
}

// Unacted returns the sessions that needed no action.
func (d *Overridden) Unacted() (all []Unacted) {
	for _, c := range d.plan.Changes {
		acted := slices.ContainsFunc(d.Results, func(r apply.Result) bool { return r.Address == c.Address })
		faulty := slices.ContainsFunc(d.plan.Problems, func(p session.Diagnostic) bool {
			return p.Severity == session.Error && (p.Address == c.Address || p.Address == "") && p.Code != string(plan.ReasonUnobserved)
		})
		if !slices.Contains(d.chosen.acting, c.Address) || acted || faulty || c.Action.Acts() || c.State == session.StateUnknown {
			continue
		}
		was := project.Find(d.chosen.before, c.Address)
		recorded := c.Reason == plan.ReasonStop && was != nil && plan.Desired(*was) != session.Stopped
		detail := c.Detail
		if detail == "" {
			detail = string(c.State)
		}
		all = append(all, Unacted{Address: c.Address, Recorded: recorded, Detail: detail})
	}
	return all
}

// Summary counts the outcomes of the sessions.
func (d *Overridden) Summary(unacted []Unacted) view.Many {
	m := view.Many{
		Verb: d.chosen.Verb.Past(), All: len(d.chosen.Named) + d.chosen.spent, Done: d.Done, Skipped: d.Skipped, Held: d.Held,
	}
	for _, u := range unacted {
		if u.Recorded {
			m.Done++
		} else {
			m.Unchanged++
		}
	}
	if m.Failed = m.All - m.Done - m.Skipped - m.Held - m.Unchanged; errors.Is(d.failed, apply.ErrInterrupted) {
		m.Failed, m.Left = d.Failed, m.Failed-d.Failed
	}
	return m
}
