package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Reconciler looks at, plans and changes the sessions of one project.
type Reconciler struct {
	Project   string
	StatePath string        // of the state file
	Version   string        // of agentform, for the state file
	Who       state.Holder  // for those that meet our lock
	LockWait  time.Duration // how long to try for the lock
	Keep      time.Duration // of the sessions' histories; 0: all

	// Here is the owner of what is started. The zero value: nothing is known of it.
	Here session.Owner
	// Check refuses a state that may not be used from here; nil: none is refused.
	Check func(state.State) error

	// Runtime opens a runtime for the project with that lineage; "": it has
	// none yet. It is called once for each engine and lineage.
	Runtime func(lineage string, spec session.RuntimeSpec) (session.Runtime, error)
	// Observer but for their Runtime.
	Observer Observer
	// Applier but for its Store and Runtime.
	Applier apply.Applier
	// Activity reads what agents do, where a plan depends on that; nil: plans do not
	// know.
	Activity *activity.Reader

	mu   sync.Mutex
	open map[string]session.Runtime // by lineage and engine
	past pasts
}

// Request is what a plan is made for.
type Request struct {
	// Wanted is the manifest's sessions.
	Wanted  []session.Spec
	Options plan.Options
	// What the manifest says about addresses.
	Moves   []plan.Move
	Removed []plan.Removal
	Imports []plan.Import
	// Wait lets Apply return only when every session that it started is ready.
	Wait bool
	also []session.Spec // wanted sessions that are looked at and not planned
}

// tries is how often a plan is made anew when the state moves under it.
const tries = 3

// Plan looks and computes what is to be done. It takes no lock and changes
// nothing. If the state is changed again and again meanwhile, the plan is not
// complete and has a warning. The error says that the state cannot be read.
func (r *Reconciler) Plan(ctx context.Context, q Request) (plan.Plan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for n := 1; ; n++ {
		ahead := r.ask(ctx, q.Wanted)
		st, err := r.read()
		if err != nil {
			return plan.Plan{}, err
		}
		w := r.look(ctx, st, q, false, ahead.of(st))
		if begun(st, w) && !state.Locked(r.StatePath) {
			w = r.clear(ctx, st, q)
		}
		w.Writer = r.writer(st)
		p := r.decide(ctx, st, w, q, false)
		r.tried(&p, w)
		serial, err := state.Serial(r.StatePath)
		if err != nil {
			return plan.Plan{}, err
		}
		if serial == st.Serial {
			return p, nil
		}
		if n == tries {
			p.Complete = false
			p.Problems = append(p.Problems, session.Diagnostic{Severity: session.Warning, Summary: "state_moved",
				Detail: fmt.Sprintf("the state was changed while it was compared, %d times; someone is at work on it: plan again", tries)})
			return p, nil
		}
	}
}

// read is the state without its lock; an empty one if there is none yet.
func (r *Reconciler) read() (state.State, error) {
	st, err := state.Read(r.StatePath)
	if errors.Is(err, state.ErrNone) {
		st = state.State{Project: r.Project}
		st.Lineage, err = state.Lineage(r.StatePath, r.Applier.OutputsDir)
	}
	if err == nil {
		err = r.check(st)
	}
	return st, err
}

func (r *Reconciler) check(st state.State) error {
	if r.Check == nil {
		return nil
	}
	return r.Check(st)
}

// aftermath is how long an engine may take to show what became of what somebody told it
// who was killed then: the time that a container may be without a run, and some more.
const aftermath = 15 * time.Second

// clear looks until it can be told what became of all that was begun. Nobody is at work,
// so that will be soon.
func (r *Reconciler) clear(ctx context.Context, st state.State, q Request) session.World {
	for until := time.Now().Add(aftermath); ; {
		w := r.look(ctx, st, q, false, nil)
		if !begun(st, w) || time.Now().After(until) {
			return w
		}
		select {
		case <-ctx.Done():
			return w
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// begun reports whether something was begun of which cannot be told yet what becomes of
// it: a session that was being started, and whether it lives; a workspace that was being
// made or removed, by a git that goes on alone, or takes back what it had begun.
func begun(st state.State, w session.World) bool {
	starting := map[string]bool{}
	for _, r := range st.Sessions {
		if r.Intent == session.Creating || r.Intent == session.Restarting {
			starting[r.ID] = true
		}
		if r.Intent != session.Settled && r.Tree.Created && halfway(r, w.Checkouts[r.Tree.Path]) {
			return true
		}
	}
	return slices.ContainsFunc(w.Lives, func(l session.Live) bool {
		return !l.Foreign && l.Vital == session.Unknown && starting[l.Mark.ID]
	})
}

// halfway reports whether a workspace that was being made or removed is neither there
// nor gone. One that Partial says is so is waited for by whoever makes it.
func halfway(r session.Record, at session.Checkout) bool {
	switch r.Intent {
	case session.Creating:
		return at.Err != nil && !at.Partial
	case session.Removing:
		return at.Err != nil || r.Tree.Mode == session.Worktree && at.Exists && !at.Git && !at.Empty
	}
	return false
}

func (r *Reconciler) look(ctx context.Context, st state.State, q Request, screens bool, asked *Asked) session.World {
	eyes := r.Observer
	eyes.Asked, eyes.Also = asked, q.also
	eyes.Runtime = r.runtimes(st.Lineage)
	for _, i := range q.Imports {
		// What has been taken over is on record, and found there.
		if !slices.ContainsFunc(st.Sessions, func(rec session.Record) bool { return rec.Address == i.To }) {
			if eyes.Imports == nil {
				eyes.Imports = map[string]session.RuntimeSpec{}
			}
			eyes.Imports[i.ID] = runtimeOf(i.To, q.Wanted)
		}
	}
	w := eyes.World(ctx, q.Wanted, st.Sessions, screens)
	w.Here = r.Here
	return w
}

// runtimeOf is the runtime of the session that is wanted at an address.
func runtimeOf(a session.Address, wanted []session.Spec) session.RuntimeSpec {
	i := slices.IndexFunc(wanted, func(s session.Spec) bool { return s.Address == a })
	if i < 0 {
		return session.RuntimeSpec{}
	}
	return wanted[i].Runtime
}

// runtimes opens the project's runtimes, each once.
func (r *Reconciler) runtimes(lineage string) func(session.RuntimeSpec) (session.Runtime, error) {
	return func(spec session.RuntimeSpec) (session.Runtime, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		key := lineage + "\x00" + spec.Engine()
		if rt := r.open[key]; rt != nil {
			return rt, nil
		}
		rt, err := r.Runtime(lineage, spec)
		if err != nil {
			return nil, err
		}
		if r.open == nil {
			r.open = map[string]session.Runtime{}
		}
		r.open[key] = rt
		return rt, nil
	}
}

// For gives the runtime that a recorded session is in: for attach, send and
// capture.
func (r *Reconciler) For(spec session.Spec) (session.Runtime, error) {
	st, err := r.read()
	if err != nil {
		return nil, err
	}
	return r.runtimes(st.Lineage)(spec.Runtime)
}

// Close closes the runtimes that were opened and have something to close.
func (r *Reconciler) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rt := range r.open {
		if c, can := rt.(session.Closer); can {
			c.Close()
		}
	}
	r.open = nil
}
