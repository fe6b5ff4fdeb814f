package apply

import (
	"context"
	"errors"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// job is one change being carried out.
type job struct {
	run     *run
	change  *plan.Change
	entry   *entry
	program session.Agent // of the wanted spec; agent opens it

	// For the schedule.
	rank    int
	weight  int    // of the parallelism, in shares
	waiting int    // jobs that have to end first
	then    []*job // jobs that wait for this one
	awaited bool   // one of them starts a session, so that this one has to become ready
	// idle lets the next job start: all that is left of this one is a write, which
	// jobs that wait for the disk share.
	idle   func()
	idling bool

	outcome Outcome
	err     error
	detail  string
	elapsed time.Duration
	started bool
}

// agent returns the adapter of the wanted session's agent.
func (j *job) agent() session.Agent {
	if j.program == nil {
		j.program = j.run.config.Agent(j.change.After.Agent)
	}
	return j.program
}

// perform carries the change out and emits its progress.
func (j *job) perform(ctx context.Context) {
	if queues(*j.change) {
		j.queue()
		return
	}
	began := j.run.journal.now()
	j.identify()
	j.entry.emit(history.Event{Kind: history.ApplyStart, Reason: string(j.change.Reason), Detail: j.change.Detail, New: j.change.Try()})
	finish := reportProgress(j.run.journal, j.entry.event(history.Event{Kind: history.ApplyProgress}), began)
	err := j.act(ctx)
	finish()
	j.elapsed = j.run.journal.now().Sub(began)
	if errors.Is(err, errWorksOn) {
		j.outcome, j.detail = Held, err.Error()
		return
	}
	if err != nil {
		j.fail(err)
		return
	}
	j.outcome = Done
	j.entry.emit(history.Event{Kind: history.ApplyComplete, Elapsed: session.Duration(j.elapsed)})
}

// identify gives a new session its identity, so that its first event has it.
func (j *job) identify() {
	switch c := j.change; {
	case c.Action == plan.Create && c.Before == nil, c.Action == plan.Adopt && c.Import != "":
		j.entry.rec = j.run.newRecord(c)
	case c.Action == plan.Adopt:
		spec := c.After
		if c.Live.Spec != nil && c.Then != "" {
			spec = c.Live.Spec // the wanted one is recorded when it is carried out
		}
		j.entry.rec = Restored(*c.Live, *spec, j.run.config.Facts(c.Live.Mark.Run), c.Address, j.run.origin(), j.run.config.DataDir)
	}
}

// act carries out the change's action and the one that follows it.
func (j *job) act(ctx context.Context) error {
	for _, a := range []plan.Action{j.change.Action, j.change.Then} {
		if do := actions[a]; do != nil {
			if err := do(j, ctx); err != nil {
				return err
			}
		}
	}
	// Only an adopted session can need a third action: it is wanted paused, and had to
	// be started again first.
	if j.change.Action == plan.Adopt && starts(j.change) && j.change.After.Desired == session.Paused {
		return j.pause(ctx)
	}
	return nil
}

var actions = map[plan.Action]func(*job, context.Context) error{
	plan.Create: (*job).create, plan.Restart: (*job).restart, plan.Replace: (*job).replace,
	plan.Update: (*job).update, plan.Pause: (*job).pause, plan.Resume: (*job).resume,
	plan.Stop: (*job).stop, plan.Delete: (*job).remove, plan.Adopt: (*job).adopt,
	plan.Forget: func(j *job, _ context.Context) error { return leave(j) },
}

// adopt records a managed session that already runs as declared.
func (j *job) adopt(ctx context.Context) error {
	if j.change.Import != "" {
		return j.adoptForeign(ctx)
	}
	if err := j.entry.keepPrompt(j.entry.rec.Spec); err != nil {
		return err
	}
	return j.entry.settle()
}

// fail emits a failure and leaves it in the session's record.
func (j *job) fail(err error) {
	if starts(j.change) || j.change.Action == plan.Adopt {
		err = cause(err)
	}
	err = readable(err)
	j.outcome, j.err = Failed, &failure{j.change.Action, j.change.Address, err}
	if j.entry.saved {
		j.entry.rec.LastError = summary(err)
		if unsaved := j.entry.save(); unsaved != nil && !(state.Unwritable(unsaved) && state.Unwritable(err)) { // else the failure says it
			j.err = errors.Join(j.err, unsaved)
		}
	}
	e := history.Event{Kind: history.ApplyErrored, Detail: j.err.Error(), Elapsed: session.Duration(j.elapsed)}
	var shows interface{ Excerpt() string }
	if errors.As(err, &shows) {
		e.Excerpt = shows.Excerpt()
	}
	j.entry.emit(e)
}

// reportProgress reports an event after a second and then every ten seconds since began,
// until finish is called. The history does not keep it.
func reportProgress(l *journal, e history.Event, began time.Time) (finish func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		t := time.NewTimer(time.Second)
		defer t.Stop()
		for pause := 9 * time.Second; ; pause = 10 * time.Second {
			select {
			case <-stop:
				return
			case <-t.C:
				e.Elapsed = session.Duration(l.now().Sub(began))
				l.emit(nil, e)
				t.Reset(pause)
			}
		}
	}()
	return func() { close(stop); <-stopped }
}

func result(j *job) Result {
	res := Result{Address: j.change.Address, Action: j.change.Action, Outcome: j.outcome, Err: j.err,
		Detail: j.detail, Elapsed: j.elapsed, Started: j.started}
	if j.entry.saved {
		rec := j.entry.rec
		res.Record = &rec
	}
	return res
}
