package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Engine observes, plans and changes the sessions of one project.
type Engine struct {
	Project   string
	StatePath string        // of the state file
	Version   string        // of agentform, for the state file
	Who       state.Holder  // shown to those who find the state locked
	LockWait  time.Duration // how long to wait for the lock
	Keep      time.Duration // age limit of the sessions' histories; 0: none
	Here      session.Owner // of new sessions; zero: not known

	// Shared means that other machines change the state, too.
	Shared bool
	// Open locks and opens the state. restarts returns what counts for the restarts of a
	// session of this machine. Nil: the state file.
	Open func(ctx context.Context, restarts func(session.Record) []health.Moment) (*state.Store, error)
	// Restarts returns another machine's facts about a session's restarts. It may be nil.
	Restarts func(session.Record) []health.Moment

	// Check refuses a state that must not be used from here. A nil Check accepts all.
	Check func(state.State) error

	// Runtime opens a runtime. The lineage is empty before the first apply.
	Runtime  func(lineage string, spec session.RuntimeSpec) (session.Runtime, error)
	Observer Observer         // without Runtime
	Applier  apply.Applier    // without Store and Runtime
	Activity *activity.Reader // nil: plans ignore the activity of agents
	// Quotas returns the quotas that are used up, as a hub has seen them. It may be nil.
	Quotas func(now time.Time) map[string]plan.Quota

	mu       sync.Mutex                 // of open
	open     map[string]session.Runtime // by lineage and engine
	restarts restartHistories
}

// Request is the input of a plan.
type Request struct {
	Wanted  []session.Spec // the manifest's sessions
	Options plan.Options
	Moves   []plan.Move
	Removed []plan.Removal
	Imports []plan.Import
	// Wait makes Apply wait until every session that it started is ready.
	Wait bool
}

// maxAttempts bounds how often a plan is computed while the state changes.
const maxAttempts = 3

// Plan computes the changes to make. It takes no lock. If the state keeps changing meanwhile, the
// plan is incomplete and has a warning. The error means that the state cannot be read.
func (e *Engine) Plan(ctx context.Context, q Request) (plan.Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for n := 1; ; n++ {
		prefetched := e.prefetch(ctx, q.Wanted)
		st, err := e.Read()
		if err != nil {
			return plan.Plan{}, err
		}
		o := e.observer(st, q)
		o.started = prefetched(st)
		w := o.World(ctx, q.Wanted, st.Sessions, false)
		if _, locked := state.HeldBy(e.StatePath); unresolved(st, w) && !locked {
			w = e.resolve(ctx, st, q)
		}
		w.Writer = e.writer(st)
		p := e.decide(ctx, st, w, q, false)
		annotate(&p, w, e.restarts.merged(e.Applier.Folder, e.Restarts))
		addTexts(&p, e.Applier.Blobs)
		serial, err := state.Serial(e.StatePath)
		if err != nil {
			return plan.Plan{}, err
		}
		if serial == st.Serial {
			return p, nil
		}
		if n == maxAttempts {
			p.Complete = false
			p.Problems = append(p.Problems, session.Diagnostic{Severity: session.Warning, Summary: "state_moved",
				Detail: fmt.Sprintf("the state changed while it was compared, %d times; another command is changing it: plan again", maxAttempts)})
			return p, nil
		}
	}
}

// Read returns the state without taking its lock. Before the first apply it is empty.
func (e *Engine) Read() (state.State, error) {
	st, err := state.Read(e.StatePath)
	if errors.Is(err, state.ErrNone) {
		st = state.State{Project: e.Project}
		st.Lineage, err = state.Lineage(e.StatePath, e.Applier.OutputsDir)
	}
	if err == nil {
		err = e.check(st)
	}
	return st, err
}

func (e *Engine) check(st state.State) error {
	if e.Check == nil {
		return nil
	}
	return e.Check(st)
}

// settleTimeout bounds the wait for operations that a killed apply had started.
const settleTimeout = 15 * time.Second

// resolve observes until the outcome of every operation is known. No other apply runs, so
// that is soon.
func (e *Engine) resolve(ctx context.Context, st state.State, q Request) session.World {
	for until := time.Now().Add(settleTimeout); ; {
		w := e.world(ctx, st, q)
		if !unresolved(st, w) || time.Now().After(until) || !sleep.For(ctx, 200*time.Millisecond) {
			return w
		}
	}
}

// unresolved reports whether it is unknown whether a session that was being started is alive, or
// how a git process in a workspace will end.
func unresolved(st state.State, w session.World) bool {
	starting := map[string]bool{}
	for _, r := range st.Sessions {
		if r.Intent == session.Creating || r.Intent == session.Restarting {
			starting[r.ID] = true
		}
		if r.Intent != session.Settled && r.Tree.Created && halfMade(r, w.Checkouts[r.Tree.Path]) {
			return true
		}
	}
	return slices.ContainsFunc(w.Lives, func(l session.Live) bool {
		return !l.Foreign && l.Liveness == session.Unknown && starting[l.Mark.ID]
	})
}

// halfMade reports whether a workspace that was being created or removed is incomplete. Its next
// creation waits for a partial one.
func halfMade(r session.Record, at session.Checkout) bool {
	switch r.Intent {
	case session.Creating:
		return at.Err != nil && !at.Partial
	case session.Removing:
		return at.Err != nil || r.Tree.Mode == session.Worktree && at.Exists && !at.Git && !at.Empty
	}
	return false
}

func (e *Engine) world(ctx context.Context, st state.State, q Request) session.World {
	return e.observer(st, q).World(ctx, q.Wanted, st.Sessions, false)
}

// observer returns the Observer for a request. What was imported before is on record.
func (e *Engine) observer(st state.State, q Request) Observer {
	o := e.Observer
	o.Runtime, o.Imports, o.here, o.shared = e.runtimes(st.Lineage), map[string]session.RuntimeSpec{}, e.Here, e.Shared
	for _, i := range q.Imports {
		if slices.ContainsFunc(st.Sessions, func(rec session.Record) bool { return rec.Address == i.To }) {
			continue
		}
		o.Imports[i.ID] = session.RuntimeSpec{}
		for _, s := range q.Wanted {
			if s.Address == i.To {
				o.Imports[i.ID] = s.Runtime
			}
		}
	}
	return o
}

func (e *Engine) runtimes(lineage string) func(session.RuntimeSpec) (session.Runtime, error) {
	return func(spec session.RuntimeSpec) (session.Runtime, error) { return e.Opened(lineage, spec) }
}

// Opened returns a runtime of the project with that lineage, opened once.
func (e *Engine) Opened(lineage string, spec session.RuntimeSpec) (session.Runtime, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := lineage + "\x00" + spec.Engine()
	if rt := e.open[key]; rt != nil {
		return rt, nil
	}
	rt, err := e.Runtime(lineage, spec)
	if err != nil {
		return nil, err
	}
	if e.open == nil {
		e.open = map[string]session.Runtime{}
	}
	e.open[key] = rt
	return rt, nil
}

// For returns the runtime of a recorded session.
func (e *Engine) For(spec session.Spec) (session.Runtime, error) {
	st, err := e.Read()
	if err != nil {
		return nil, err
	}
	return e.Opened(st.Lineage, spec.Runtime)
}

func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, rt := range e.open {
		if c, can := rt.(session.Closer); can {
			c.Close()
		}
	}
	e.open = nil
}
