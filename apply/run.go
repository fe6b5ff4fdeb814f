package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// run is one plan being carried out.
type run struct {
	*Applier
	plan plan.Plan
	jobs []*job // the higher priority first
	// secrets are the names of all that any session calls a secret: none of them
	// may reach an agent by the plain environment.
	secrets   map[string]bool
	observers sync.Map // of *launch.Observer, by engine and whether screens are wanted
	// activity reads what agents keep and tell of themselves.
	activity *activity.Reader

	interrupted bool

	mu       sync.Mutex // guards what follows, and makes events come one at a time
	warnings []session.Diagnostic
	unlogged bool // that the history cannot be written has been told
}

func newRun(a *Applier, p plan.Plan) *run {
	r := &run{Applier: a, plan: p, secrets: map[string]bool{}, activity: activity.New(a.DataDir, launch.Home(a.BaseEnv), a.Agent)}
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.After != nil {
			r.conceal(c.After.Secrets)
		}
		if c.Before != nil {
			r.conceal(c.Before.Spec.Secrets)
		}
		if c.Action.Acts() || waits(*c) || queues(*c) {
			r.jobs = append(r.jobs, newJob(r, c))
		}
	}
	slices.SortStableFunc(r.jobs, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.priority(), a.priority()), cmp.Compare(a.change.Address, b.change.Address))
	})
	for i, j := range r.jobs {
		j.rank = i
	}
	r.link()
	return r
}

// conceal takes variables out of the environment that agents start from.
func (r *run) conceal(secrets []string) {
	for _, name := range secrets {
		r.secrets[name] = true
	}
}

// waits reports whether the plan holds the change because something that it
// depends on failed: it is skipped.
func waits(c plan.Change) bool {
	return c.Action == plan.Hold && c.Skips && c.Approved
}

func (r *run) inPlanOrder() []*job {
	at := make(map[session.Address]int, len(r.plan.Changes))
	for i := range r.plan.Changes {
		at[r.plan.Changes[i].Address] = i
	}
	jobs := slices.Clone(r.jobs)
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(at[a.change.Address], at[b.change.Address]) })
	return jobs
}

func (r *run) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

func (r *run) newID(digits int) string {
	if r.NewID != nil {
		return r.NewID(digits)
	}
	return launch.RandomHex(digits)
}

// emit tells an event, and keeps it in the history of the session that the
// record is of; nil: it is only told.
func (r *run) emit(e history.Event, of *session.Record) {
	e.Time, e.By = r.now(), r.By
	if of != nil && of.ID != "" {
		if err := history.Open(r.Folder(*of)).Append(e); err != nil {
			r.unwritable(err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Emit != nil {
		r.Emit(e)
	}
}

// unwritable warns, once, that what happens is not kept.
func (r *run) unwritable(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.unlogged {
		r.unlogged = true
		r.warnings = append(r.warnings, session.Diagnostic{Severity: session.Warning,
			Summary: "the history cannot be written", Detail: err.Error() + "\nwhat happens is carried out and not kept"})
	}
}

func (r *run) warn(a session.Address, summary, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnings = append(r.warnings, session.Diagnostic{Severity: session.Warning, Summary: summary, Detail: detail, Address: a})
}

// runtime opens the runtime of a spec.
func (r *run) runtime(s session.Spec) (session.Runtime, error) { return r.Runtime(s.Runtime) }

// look is what a spec's runtime shows now, with screens or without.
func (r *run) look(ctx context.Context, s session.Spec, screens bool) ([]session.Live, error) {
	key := fmt.Sprint(s.Runtime.Engine(), " ", screens)
	o, _ := r.observers.LoadOrStore(key, &launch.Observer{Observe: func(ctx context.Context) ([]session.Live, error) {
		rt, err := r.runtime(s)
		if err != nil {
			return nil, err
		}
		return rt.Observe(ctx, screens)
	}})
	return o.(*launch.Observer).Lives(ctx, 0)
}
