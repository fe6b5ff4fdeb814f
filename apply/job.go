package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// job is one change being carried out.
type job struct {
	run    *run
	change *plan.Change
	rank   int

	waiting int    // jobs that have to end first
	then    []*job // jobs that wait for this one
	awaited bool   // one of them starts a session: this one has to become ready

	// rec is what is known of the session: what is saved, and what has become
	// true since. kept says that the store has it.
	rec   session.Record
	kept  bool
	lifts *session.Override // still to be lifted

	program session.Agent // of the wanted spec; agent opens it

	// idle lets the next job begin: all that is left of this one is a write, which
	// those who wait for the disk together share.
	idle   func()
	idling bool
	takes  int // of what may be done at once, in shares; 0: not weighed yet

	outcome Outcome
	err     error
	detail  string
	elapsed time.Duration
	started bool
}

func newJob(r *run, c *plan.Change) *job {
	j := &job{run: r, change: c, lifts: c.Lifts}
	if c.Before != nil {
		j.rec, j.kept = *c.Before, true
	}
	return j
}

func (j *job) priority() int {
	switch {
	case j.change.After != nil:
		return j.change.After.Priority
	case j.change.Before != nil:
		return j.change.Before.Spec.Priority
	}
	return 0
}

// agent is the program of the wanted session. Its patterns are compiled once.
func (j *job) agent() session.Agent {
	if j.program == nil {
		j.program = j.run.Agent(j.change.After.Agent)
	}
	return j.program
}

// perform carries the change out, telling how it goes.
func (j *job) perform(ctx context.Context) {
	if queues(*j.change) {
		j.queue()
		return
	}
	began := j.run.now()
	j.identify()
	j.tell(history.Event{Kind: history.ApplyStart, Reason: string(j.change.Reason), Detail: j.change.Detail})
	finish := j.progress(began)
	err := j.act(ctx)
	finish()
	j.elapsed = j.run.now().Sub(began)
	if err != nil {
		j.fail(err)
		return
	}
	j.outcome = Done
	j.tell(history.Event{Kind: history.ApplyComplete, Elapsed: session.Duration(j.elapsed)})
}

// act does what the change says, then what it says besides.
func (j *job) act(ctx context.Context) error {
	if err := j.do(ctx, j.change.Action); err != nil {
		return err
	}
	if err := j.do(ctx, j.change.Then); err != nil {
		return err
	}
	// Only what was adopted can need a third step: a session that is wanted
	// paused and had to be started again first.
	if j.change.Action == plan.Adopt && j.starts() && j.change.After.Desired == session.Paused {
		return j.pause(ctx)
	}
	return nil
}

func (j *job) do(ctx context.Context, a plan.Action) error {
	switch a {
	case plan.Create:
		return j.create(ctx)
	case plan.Restart:
		return j.restart(ctx)
	case plan.Replace:
		return j.replace(ctx)
	case plan.Update:
		return j.update(ctx)
	case plan.Pause:
		return j.pause(ctx)
	case plan.Resume:
		return j.resume(ctx)
	case plan.Stop:
		return j.stop(ctx)
	case plan.Delete:
		return j.remove(ctx)
	case plan.Forget:
		return forgetEnded(j)
	case plan.Adopt:
		if j.change.Import != "" {
			return j.takeOver(ctx)
		}
		return j.adopt()
	}
	return nil
}

// fail tells a failure and leaves it on the session's record.
func (j *job) fail(err error) {
	j.outcome = Failed
	if begins(j.change.Action) {
		err = cause(err)
	}
	err = inWords(err)
	j.err = &failure{j.change.Action, j.change.Address, err}
	if j.kept {
		j.rec.Trouble = inShort(err)
		if unsaved := j.save(); unsaved != nil && !(state.Unwritable(unsaved) && state.Unwritable(err)) { // else it is said already
			j.err = errors.Join(j.err, unsaved)
		}
	}
	e := history.Event{Kind: history.ApplyErrored, Detail: j.err.Error(), Elapsed: session.Duration(j.elapsed)}
	var shows interface{ Excerpt() string }
	if errors.As(err, &shows) {
		e.Excerpt = shows.Excerpt()
	}
	j.tell(e)
}

// troubleLimit is how much of a failure is kept on record, in bytes: enough to
// recognise it; the whole stands in the history.
const troubleLimit = 400

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > troubleLimit {
		s = strings.ToValidUTF8(s[:troubleLimit], "") + "…"
	}
	return s
}

// progress tells that the job is still under way: after a second, and then
// every ten seconds since its beginning. That is not kept in the history: it
// says nothing once the job has ended. The function ends it.
func (j *job) progress(began time.Time) (finish func()) {
	e := j.event(history.Event{Kind: history.ApplyProgress})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		next := time.Second
		t := time.NewTimer(next)
		defer t.Stop()
		for {
			select {
			case <-stop:
				return
			case <-t.C:
				e.Elapsed = session.Duration(j.run.now().Sub(began))
				j.run.emit(e, nil)
				pause := 10 * time.Second
				if next == time.Second {
					pause = 9 * time.Second
				}
				next += pause
				t.Reset(pause)
			}
		}
	}()
	return func() { close(stop); <-stopped }
}

// identify gives a session that is to be made its identity, so that its first
// event already has it.
func (j *job) identify() {
	c := j.change
	switch {
	case c.Action == plan.Create && c.Before == nil:
		j.rec = j.fresh()
	case c.Action == plan.Adopt && c.Import != "":
		j.rec = j.fresh()
	case c.Action == plan.Adopt:
		j.rec = j.found()
	}
}

// fresh is the record of a session that is about to be made.
func (j *job) fresh() session.Record {
	return session.Record{
		ID:        j.change.Address.Slug() + "-" + j.run.newID(8),
		Address:   j.change.Address,
		Origin:    j.run.origin(),
		Spec:      *j.change.After,
		CreatedAt: j.run.now(),
	}
}

// origin is how what comes on record now came to it.
func (r *run) origin() session.Origin {
	if r.Origin == "" {
		return session.FromManifest
	}
	return r.Origin
}

// save puts what is known of the session on record.
func (j *job) save() error {
	j.rec.UpdatedAt = j.run.now()
	if err := j.run.Store.Put(j.rec); err != nil {
		return fmt.Errorf("record the session: %w", err)
	}
	j.kept = true
	return nil
}

// settle records that nothing is under way any more and that it went well. A
// hand's override that the plan lifts, or that says what is wanted anyway, ends
// with it.
func (j *job) settle() error {
	j.rec.Intent, j.rec.Trouble = session.Settled, ""
	lifted := j.lifts
	if o := j.rec.Override; o != nil && (lifted != nil || o.Desired == j.rec.Spec.Desired) {
		j.rec.Override = nil
	}
	if err := j.save(); err != nil {
		return err
	}
	if lifted != nil {
		j.lifts = nil
		j.tell(history.Event{Kind: history.OverrideLifted, Old: string(lifted.Desired), New: string(j.rec.Spec.Desired),
			Detail: fmt.Sprintf("%s by %s at %s", lifted.Desired, lifted.By, lifted.At.UTC().Format(time.RFC3339))})
	}
	return nil
}

// tell emits an event of this session.
func (j *job) tell(e history.Event) { j.run.emit(j.event(e), &j.rec) }

func (j *job) event(e history.Event) history.Event {
	e.Address, e.ID, e.Run, e.Action = j.change.Address, j.rec.ID, cmp.Or(e.Run, j.rec.Run.ID), string(j.change.Action)
	return e
}

func (j *job) result() Result {
	res := Result{Address: j.change.Address, Action: j.change.Action, Outcome: j.outcome, Err: j.err,
		Detail: j.detail, Elapsed: j.elapsed, Started: j.started}
	if j.kept {
		rec := j.rec
		res.Record = &rec
	}
	return res
}
