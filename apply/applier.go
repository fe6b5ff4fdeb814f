package apply

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Store keeps the records. Put, Move and Delete return when what they were told
// is durable. *state.Store is one.
type Store interface {
	Put(session.Record) error
	// Move is Put of a session that was on record under another address.
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

// Applier is what a plan is carried out with. All functions are called from
// many goroutines.
type Applier struct {
	Store   Store
	Runtime func(session.RuntimeSpec) (session.Runtime, error)
	Agent   func(session.AgentSpec) session.Agent
	Git     Git
	Blobs   Blobs
	// Secrets is the value of a secret, and whether there is one.
	Secrets func(name string) (string, bool)
	// Facts reads the folder of a run.
	Facts func(run string) session.RunFacts
	// BaseEnv is the environment of which sessions get what session.Inherit returns,
	// KEY=VALUE. The variables that any session of the plan names as secrets are
	// taken out.
	BaseEnv []string
	// BaseOf is that environment of one session, where it is another: that of its last
	// run, when the hub starts it. Nil, or an empty result: BaseEnv. The error
	// says what of it cannot be had.
	BaseOf func(session.Address) ([]string, error)

	// Hooks is the command that agents' hooks call, before the run's folder; nil: no
	// hooks are asked for.
	Hooks func() ([]string, error)
	// Root says that agents run as root where they run as whoever runs this.
	Root bool

	DataDir, Project string
	// ProjectDir is the project's directory, which agents are told; empty: it has none.
	ProjectDir string
	// OutputsDir holds the sessions' own folders, ROLE/ID; empty: DATA_DIR/agents.
	OutputsDir string
	// Origin of what is created; empty: a manifest.
	Origin session.Origin
	// Parallelism is how many sessions are worked on at once; less than 1: one. From 2
	// on, ten sessions that only ask tmux count as one.
	Parallelism int
	By          string // who asked, for the events
	// StopOnError lets nothing new start after a failure.
	StopOnError bool
	// EachAlone lets a session that lacks something it needs from outside fail
	// alone; else nothing is begun at all.
	EachAlone bool
	// AfterTurn is how long a session's running turn is let end before its agent
	// is ended; nil: as its stop block says.
	AfterTurn func(session.Spec) time.Duration
	// Emit is told every event as it happens, one at a time. It may be nil.
	Emit func(history.Event)
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// NewID is so many random hex digits; nil: from crypto/rand.
	NewID func(digits int) string
}

// Outcome is how it went with one session.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
	Held    Outcome = "held" // approved and recorded; it starts when it can
)

// Result is what became of one change.
type Result struct {
	Address session.Address
	Action  plan.Action
	Outcome Outcome
	Err     error  // of a failure
	Detail  string // of a skip or a hold: why
	Elapsed time.Duration
	Record  *session.Record // as it is now; nil: none is kept
	Started bool            // a run of it was started
}

// Tally is how an apply went.
type Tally struct {
	Done, Failed, Skipped, Held int
	// Results has an entry for each change that was to be carried out, in the
	// plan's order.
	Results []Result
	// Warnings is what a person should hear besides.
	Warnings []session.Diagnostic
}

// Run carries out the plan's changes. Before anything is touched it verifies that every
// agent's command exists and every secret is set; if not, nothing is done. A failure is
// reported when it happens, what depends on the session is skipped, and the rest goes on.
//
// When drain is closed, no change is started any more, and those under way are
// completed. When ctx ends, those under way are aborted; all that exists by then is
// recorded, with what was about to happen to it.
//
// The error joins all failures, and ErrInterrupted if drain or ctx kept a change from
// being carried out.
func (a *Applier) Run(ctx context.Context, p plan.Plan, drain <-chan struct{}) (Tally, error) {
	r := newRun(a, p)
	interrupted := false
	if r.preflight(ctx) {
		r.move()
		interrupted = schedule(ctx, r.jobs, share*max(1, a.Parallelism), a.StopOnError, drain)
	}
	return r.tally(interrupted)
}

// Await waits until every session that the tally says was started is ready, each as long
// as its agent may take, and emits that for those that are not on record as ready. It
// writes no state and needs no lock. The error joins those that did not become ready.
func (a *Applier) Await(ctx context.Context, t Tally) error {
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
	var all *multierror.Error
	for _, err := range errs {
		if err != nil {
			all = multierror.Append(all, err)
		}
	}
	return all.ErrorOrNil()
}

// Tell emits an event that something else than Run caused, and keeps it in the session's
// history.
func (a *Applier) Tell(e history.Event, rec session.Record) { a.journal().emit(e, &rec) }

// TellNew adds to a session's history what compute returns for it, and emits that. Of
// several processes that do so, one computes at a time.
func (a *Applier) TellNew(rec session.Record, compute func(past []history.Event) []history.Event) {
	l := a.journal()
	told, err := history.Update(a.Folder(rec), func(past []history.Event) []history.Event {
		found := compute(past)
		for i := range found {
			found[i].Time, found[i].By = l.now(), l.by
		}
		return found
	})
	if err != nil {
		l.unwritable(err)
	}
	for _, e := range told {
		l.emit(e, nil)
	}
}

// Folder returns the session's own folder, for its record, events and transcript.
func (a *Applier) Folder(r session.Record) string {
	if a.OutputsDir != "" {
		return state.FolderIn(a.OutputsDir, r)
	}
	return state.Folder(a.DataDir, r)
}

func (a *Applier) journal() *journal {
	l := &journal{folder: a.Folder, report: a.Emit, by: a.By, now: a.Now}
	if l.now == nil {
		l.now = time.Now
	}
	return l
}
