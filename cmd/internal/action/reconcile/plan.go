// Package reconcile plans and applies.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/google/renameio/v2"

	"github.com/agentform/agentform/cmd/internal/action/await"
	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/rebuild"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Planned is a plan with its inputs.
type Planned struct {
	plan.Plan
	Project *project.Project
	Request engine.Request

	turnLimit func(session.Spec) time.Duration // nil: as the stop blocks say
}

// Plan compares the manifest, the state and the running sessions.
func Plan(ctx context.Context, p *project.Project, q Asked) (Planned, error) {
	x := Planned{Project: p}
	options, err := q.Options(p)
	if err != nil {
		return x, err
	}
	x.Request = p.Request(options)
	x.Plan, err = p.Reconciler(project.ToRead).Plan(ctx, x.Request)
	for i, d := range x.Problems {
		if at, declared := p.Manifest.Ranges[d.Address]; declared && d.Severity == session.Warning && d.Range == nil {
			x.Problems[i].Range = &at
		}
	}
	x.Problems = append(x.Problems, LostState(p, x.Serial)...)
	return x, err
}

// Failure returns the plan of a failed command. said is true if its problems have the reason.
func Failure(p *project.Project, err error, said bool) Planned {
	none := Planned{Project: p, Plan: plan.Plan{At: time.Now(), Project: p.Manifest.Project, Problems: slices.Clone(p.Problems)}}
	if !said {
		none.Problems = append(none.Problems, session.Diagnostic{Severity: session.Error, Summary: err.Error()})
	}
	return none
}

// LostState warns if sessions that were stopped manually would start as new ones.
func LostState(p *project.Project, serial uint64) []session.Diagnostic {
	if serial > 0 {
		return nil
	}
	problem, remedy := rebuild.Lost(p.Manifest, p.State)
	if problem == "" {
		return nil
	}
	return []session.Diagnostic{{Severity: session.Warning, Summary: "the state is lost", Detail: problem + "\n" + remedy}}
}

// Read reads a saved plan from a file, named name in messages.
func Read(file, name string) (Planned, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return Planned{}, fmt.Errorf("read the plan: %w", err)
	}
	made, err := plan.Decode(b)
	if errors.Is(err, plan.ErrNotPlan) {
		err = fmt.Errorf("%w: create one with agentform plan --out FILE", err)
	}
	if err != nil {
		return Planned{}, fmt.Errorf("read the plan %s: %w", name, err)
	}
	return Planned{Plan: made, Request: engine.Request{
		Wanted: made.Wanted(), Options: made.Options, Moves: made.Moves, Removed: made.Removed, Imports: made.Imports,
	}}, nil
}

// For returns a saved plan for a project. It fails if the plan belongs to another project. name is
// its file's.
func (x Planned) For(p *project.Project, name string) (Planned, error) {
	if x.Plan.Project != p.Manifest.Project {
		return x, fmt.Errorf("%s is a plan for the project %q, and this is %q: run plan again here", name, x.Plan.Project, p.Manifest.Project)
	}
	x.Project = p
	return x, nil
}

// Save writes the plan to a file, which only its owner can read, because a plan has prompts.
func (x Planned) Save(path string) error {
	b, err := plan.Encode(x.Plan)
	if err != nil {
		return err
	}
	return writeOwn(path, b)
}

// writeOwn writes a file that only its owner can read, at once. What is there and is no file,
// as /dev/null or a pipe, is written to: root could replace it for the whole machine.
func writeOwn(path string, b []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return os.WriteFile(path, b, 0o600)
	}
	return renameio.WriteFile(path, b, 0o600, renameio.IgnoreUmask())
}

// Warnings returns what this machine lacks for the plan, and budgets without a price.
func (x Planned) Warnings(ctx context.Context) []session.Diagnostic {
	found := x.Project.Host().Plan(ctx, x.Plan, session.Warning)
	var recorded []session.Record
	for _, c := range x.Changes {
		if c.Before != nil {
			recorded = append(recorded, *c.Before)
		}
	}
	return append(found, project.UnpricedBudgets(x.Project, recorded, x.At)...)
}

// Missing returns what this machine lacks for the plan. Errors among it prevent an apply.
func (x Planned) Missing(ctx context.Context) (found []session.Diagnostic, prevents bool) {
	found = x.Project.Host().Plan(ctx, x.Plan, session.Error)
	return found, session.HasErrors(found)
}

// KeptWork adds the work that keeps workspaces to the plan.
func (x *Planned) KeptWork(ctx context.Context) { preflight.KeptWork(ctx, &x.Plan) }

// HasErrors reports whether the plan has a session in error.
func (x Planned) HasErrors() bool { return session.HasErrors(x.Problems) }

// Failed reports whether a command that plans fails.
func (x Planned) Failed(warnings []session.Diagnostic) bool {
	return x.HasErrors() || session.HasErrors(warnings) || !x.Complete
}

// Differs reports whether a command that plans found changes.
func (x Planned) Differs() bool { return x.Acts() || x.Request.Options.RefreshOnly && len(x.Drift) > 0 }

// Waits reports whether the start of a session is held.
func (x Planned) Waits() bool { return slices.ContainsFunc(x.Changes, plan.Change.Waits) }

// Idle reports whether there is nothing left to do or, with wait, to wait for.
func (x Planned) Idle(wait bool) bool {
	queues := slices.ContainsFunc(x.Changes, func(c plan.Change) bool { return c.Queues() && !c.Queued() })
	return !x.Acts() && !queues && !(wait && (x.Waits() || len(await.Ending(x.Plan)) > 0))
}

// HubNeeds returns the parts of the plan that only a hub does.
func (x Planned) HubNeeds() []string {
	overBudget := func(c plan.Change) bool { return c.Action == plan.Hold && c.Reason == plan.ReasonOverBudget }
	return hubNeeds(x.Waits() || slices.ContainsFunc(x.Changes, overBudget), len(await.Unfinished(x.Plan)) > 0)
}

// Located returns the plan with the files of its problems renamed by name, and the declarations of
// its sessions.
func (x Planned) Located(name func(file string) string) (plan.Plan, func(session.Address) *session.Range) {
	made := x.Plan
	made.Problems = slices.Clone(made.Problems)
	for i, d := range made.Problems {
		if d.Range != nil {
			r := *d.Range
			r.Filename = name(r.Filename)
			made.Problems[i].Range = &r
		}
	}
	return made, func(address session.Address) *session.Range {
		r, declared := x.Project.Manifest.Ranges[address]
		if !declared {
			return nil
		}
		r.Filename = name(r.Filename)
		return &r
	}
}
