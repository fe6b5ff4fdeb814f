package apply

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
	"github.com/hashicorp/go-multierror"
)

// Store keeps the records. Put, Move and Delete return when the change is durable.
// *state.Store is one.
type Store interface {
	Put(session.Record) error
	// Move is Put for a session that is recorded at another address.
	Move(from session.Address, r session.Record) error
	Delete(session.Address) error
	// Defer and DeferDelete keep elsewhere what Put and Delete could not write.
	Defer(session.Record) error
	DeferDelete(session.Address) error
}

// Blobs keeps texts under their digests. state.Blobs is one.
type Blobs interface {
	Put(text string) (digest string, err error)
	Get(digest string) (string, error)
}

// Applier carries out plans. Its functions are called from many goroutines.
type Applier struct {
	Store   Store
	Runtime func(session.RuntimeSpec) (session.Runtime, error)
	Agent   func(session.AgentSpec) session.Agent
	Git     Git
	Blobs   Blobs
	// Secrets returns the value of a secret, and whether there is one.
	Secrets func(name string) (string, bool)
	// Facts reads the directory of a run.
	Facts func(run string) session.RunFacts
	// BaseEnv is the environment (NAME=VALUE) from which session.Inherit selects the sessions'
	// part, without anything that a session of the plan declares as a secret.
	BaseEnv []string
	// BaseOf returns that environment for one session if it differs. Nil or an empty
	// result: BaseEnv.
	BaseOf func(session.Address) ([]string, error)

	// Hooks returns the command of agents' hooks, without the run's directory; nil: no
	// hooks.
	Hooks func() ([]string, error)
	// Root reports whether this program, whose user agents have by default, runs as root.
	Root bool

	DataDir, Project string
	// ProjectDir is the project's directory, which agents get; empty: it has none.
	ProjectDir string
	// OutputsDir holds the sessions' own directories, ROLE/ID; empty: DATA_DIR/agents.
	OutputsDir string
	// Origin of what is created; empty: a manifest.
	Origin session.Origin
	// Parallelism is the number of concurrent changes; less than 1: one. From 2 on, ten that only
	// send requests to tmux count as one, as do five of sessions in a cluster.
	Parallelism int
	By          string // who asked, for the events
	// StopOnError starts no change after a failure.
	StopOnError bool
	// EachAlone lets a session whose command or secret is missing fail alone. Otherwise
	// nothing is done at all.
	EachAlone bool
	// AfterTurn bounds the wait for the end of a turn before an agent is ended; nil: as
	// the stop block says.
	AfterTurn func(session.Spec) time.Duration
	// Ended is called when a session's agent has been ended, before its record changes. It
	// may be nil.
	Ended func(session.Record)
	// Emit is called with every event, one at a time. It may be nil.
	Emit func(history.Event)
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// NewID returns random hex digits; nil: from crypto/rand.
	NewID func(digits int) string
}

// Outcome is the result of one change.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
	Held    Outcome = "held" // approved and recorded; it starts when it can
)

// Result is the outcome of one change with its details.
type Result struct {
	Address session.Address
	Action  plan.Action
	Outcome Outcome
	Err     error  // of a failure
	Detail  string // of a skip or a hold: why
	Elapsed time.Duration
	Record  *session.Record // nil: the session left the state
	Started bool            // a run of it was started
}

// Tally is the result of an apply.
type Tally struct {
	Done, Failed, Skipped, Held int
	// Results has an entry for each change that was to be carried out, in the
	// plan's order.
	Results []Result
	// Warnings are problems that kept no change from being carried out.
	Warnings []session.Diagnostic
}

// Run carries out the plan's changes. It first verifies that every agent's command exists
// and every secret is set; if not, nothing is done. After a failure, what depends on the
// session is skipped, and the rest goes on.
//
// When drain is closed, changes in progress are completed and no others started. When ctx
// ends, those in progress are aborted; all that exists by then is recorded.
//
// The error joins all failures, and ErrInterrupted if a change was not carried out.
func (a *Applier) Run(ctx context.Context, p plan.Plan, drain <-chan struct{}) (Tally, error) {
	r := newRun(a, p)
	interrupted := false
	if r.preflight(ctx) {
		r.move()
		interrupted = schedule(ctx, r.jobs, share*max(1, a.Parallelism), a.StopOnError, drain)
	}
	return r.tally(interrupted)
}

// Await waits until every session that was started is ready, and emits that. It writes no
// state and needs no lock. Those that did not become ready are failed in the tally, and the
// error joins them.
func (a *Applier) Await(ctx context.Context, t *Tally) error {
	r := newRun(a, plan.Plan{})
	var wg sync.WaitGroup
	errs := make([]error, len(t.Results))
	for i, res := range t.Results {
		if !res.Started || res.Outcome != Done || res.Record == nil || !res.Record.Run.ReadyAt.IsZero() {
			continue
		}
		wg.Go(func() {
			rec := *res.Record
			run, err := r.starter.run(&rec, a.Agent(rec.Spec.Agent))
			if err == nil {
				err = r.starter.await(ctx, run)
			}
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", res.Address, readable(err))
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Results[i].Outcome, t.Results[i].Err = Failed, err
			t.Done--
			t.Failed++
		}
	}
	return multierror.Append(nil, errs...).ErrorOrNil()
}

// Tell emits an event that does not come from Run, and keeps it in the session's history.
func (a *Applier) Tell(e history.Event, rec session.Record) {
	(&journal{config: a}).emit(&rec, e)
}

// TellNew adds to a session's history what compute returns for it, and emits that. One
// process computes at a time.
func (a *Applier) TellNew(rec session.Record, compute func(past []history.Event) []history.Event) {
	l := &journal{config: a}
	told, err := history.Update(a.Folder(rec), func(past []history.Event) []history.Event {
		found := compute(past)
		for i := range found {
			found[i].Time, found[i].By = l.now(), a.By
		}
		return found
	})
	if err != nil {
		l.unwritable(err)
	}
	l.emit(nil, told...)
}

// Folder returns the session's own directory, for its record, events and transcript.
func (a *Applier) Folder(r session.Record) string {
	if a.OutputsDir != "" {
		return state.FolderIn(a.OutputsDir, r)
	}
	return state.Folder(a.DataDir, r)
}
