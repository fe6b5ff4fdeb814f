package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/action/await"
	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Run has the options for carrying out a plan.
type Run struct {
	Origin      session.Origin
	StopOnError bool
	Wait        bool            // until the started sessions are ready
	Drain       <-chan struct{} // closed: nothing more is begun
	Emit        func(history.Event)
	Need        func(api.Session, time.Time) // see await.Input
}

// Applied is a plan that was carried out.
type Applied struct {
	apply.Tally
	Err     error
	planned Planned
	engine  *engine.Engine
	run     Run
}

// AfterTurn lets running turns end first, for at most limit; 0: as the manifest says.
func (x *Planned) AfterTurn(limit time.Duration) {
	x.turnLimit = engine.TurnLimit(limit)
	x.Plan = x.Plan.AfterTurn(x.turnLimit)
}

// Apply carries out the plan. If anything has changed since, it fails without effect; see Outdated.
func (x Planned) Apply(ctx context.Context, run Run) (*Applied, error) {
	r := x.Project.Reconciler(project.ToAct)
	r.Applier.Emit, r.Applier.StopOnError, r.Applier.Origin = run.Emit, run.StopOnError, run.Origin
	r.Applier.AfterTurn = x.turnLimit
	x.Request.Wait = run.Wait
	done := &Applied{planned: x, engine: r, run: run}
	done.Tally, done.Err = r.Apply(ctx, x.Request, x.Plan, run.Drain)
	if Outdated(done.Err) != "" {
		return nil, done.Err
	}
	return done, nil
}

// Outdated returns the changes since a plan was made, if they prevented it.
func Outdated(err error) string {
	var changed *engine.ChangedError
	if errors.As(err, &changed) {
		return fmt.Sprint(changed.Changes)
	}
	return ""
}

// Interrupted reports whether the apply was interrupted before its end.
func (d *Applied) Interrupted(ctx context.Context) bool {
	return ctx.Err() != nil || errors.Is(d.Err, apply.ErrInterrupted)
}

// Await waits for held sessions and for those that end, unless it was interrupted.
func (d *Applied) Await(ctx context.Context) {
	if !d.run.Wait || d.Interrupted(ctx) {
		return
	}
	tally, err := await.Follow(ctx, await.Input{
		Project: d.planned.Project, Observer: project.Fleet(d.planned.Project), Engine: d.engine, Request: d.planned.Request, Plan: d.planned.Plan,
		Tally: d.Tally, Drain: d.run.Drain, Emit: d.run.Emit, Need: d.run.Need,
	})
	d.Tally, d.Err = tally, errors.Join(d.Err, err)
}

// HubNeeds returns the remaining work that only a hub does.
func (d *Applied) HubNeeds() []string {
	return hubNeeds(d.Held > 0, !d.run.Wait && len(await.Unfinished(d.planned.Plan)) > 0) // Await has seen their ends itself
}

// NotInherited returns the variables missing in the started sessions.
func (x Planned) NotInherited() []string {
	return preflight.NotInherited(x.Project.Secrets.Environ(), preflight.Starting(x.Plan))
}

// Started returns the sessions that the apply started.
func (d *Applied) Started() map[session.Address]bool {
	started := map[session.Address]bool{}
	for _, r := range d.Results {
		if r.Started && r.Outcome == apply.Done && r.Record != nil {
			started[r.Address] = true
		}
	}
	return started
}

// Only plans to create, adopt or destroy sessions, and leaves the others unchanged. The plan's
// problems are those of the sessions.
func Only(ctx context.Context, p *project.Project, q engine.Request, addresses ...session.Address) (Planned, error) {
	q.Options.Targets, q.Options.MaxRunning = addresses, p.MaxRunning
	made, err := p.Reconciler(project.ToRead).Plan(ctx, q) // installs nothing, as the plan may be refused
	made.Problems = slices.DeleteFunc(slices.Clone(made.Problems), func(d session.Diagnostic) bool {
		return d.Address != "" && !slices.Contains(addresses, d.Address)
	})
	return Planned{Plan: made, Project: p, Request: q}, err
}

// Destroy plans to destroy one session.
func Destroy(ctx context.Context, p *project.Project, address session.Address) (Planned, error) {
	return Only(ctx, p, engine.Request{Options: plan.Options{Destroy: true}}, address)
}

// Nothing returns an error if the plan has no effect on its only session.
func (x Planned) Nothing() error {
	for _, c := range x.Changes {
		if slices.Contains(x.Request.Options.Targets, c.Address) && !c.Action.Acts() {
			return fmt.Errorf("%s: nothing was done: %s", c.Address, c.Detail)
		}
	}
	return nil
}
