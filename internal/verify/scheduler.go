package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// Seen is what one look shows of a recorded session.
type Seen struct {
	Record   session.Record
	Live     *session.Live // nil: it does not run
	Checkout session.Checkout
	Doing    session.Doing
	// DraftSince is since when its composer has a text that was not sent; zero: it has none.
	DraftSince time.Time
}

// idle reports whether the work of the session can be verified.
func (s Seen) idle() bool { return s.Record.Spec.Verify.Declared() && s.Rests() }

// Rests means that its agent has ended a turn and accepts text: it is not paused.
func (s Seen) Rests() bool {
	r, l := s.Record, s.Live
	return !s.Doing.Ended.IsZero() && s.Doing.Run == r.Run.ID && r.Intent == session.Settled && r.Finished == nil &&
		l != nil && l.Liveness == session.Alive && !l.Frozen && !l.InputOff && l.Mark.Run == r.Run.ID
}

// draftPatience is how long a text that somebody has begun to type is waited for. Who was called
// away for less goes on with it.
const draftPatience = 10 * time.Minute

// Takes returns nil if its agent rests and takes a text at that time, and ErrOutdated if it may
// later. Another error is why it does not before somebody helps.
func (s Seen) Takes(now time.Time) error {
	switch {
	case !s.Rests(), !s.DraftSince.IsZero() && now.Sub(s.DraftSince) < draftPatience:
		return ErrOutdated
	case !s.DraftSince.IsZero():
		return &input.DraftError{}
	}
	return nil
}

// Reach is how the sessions of a project, and their histories, are reached.
type Reach struct {
	Activity *activity.Reader
	Open     func(session.RuntimeSpec) (session.Runtime, error)
	Folder   func(session.Record) string // that has the session's history
	By       string                      // who acts, for histories
	Emit     func(history.Event)         // is called with every event
	Now      func() time.Time
	Log      *slog.Logger
}

// Access is how verifications reach the sessions of a project.
type Access struct {
	Reach
	// Record records an outcome in place of the record's, or returns ErrOutdated if that is not
	// the last. It may wait for the state's lock.
	Record func(context.Context, session.Record, session.Verified) error
}

// Verifier returns what verifies a session that was seen. doing returns what its agent does now.
func (x Access) Verifier(s Seen, doing func(context.Context) (session.Doing, error)) (*Verifier, error) {
	r := s.Record
	if s.Live == nil || s.Live.Liveness != session.Alive {
		return nil, errors.New("its agent does not run")
	}
	rt, err := x.Open(r.Spec.Runtime)
	if err != nil {
		return nil, err
	}
	return &Verifier{
		Session: r, Place: s.Live.Location, Runtime: rt, Workspace: changes.Of(r, s.Checkout, s.Live, x.Open), Doing: doing, Now: x.Now,
		Record: func(ctx context.Context, was *session.Verified, now session.Verified) error {
			r := r
			r.Verified = was
			return x.Record(ctx, r, now)
		},
		Send: func(ctx context.Context, text string) error { return x.Send(ctx, rt, s, text) },
		Tell: func(e history.Event) { x.Tell(r, e) },
	}, nil
}

// Send types a text into the agent of a session that was seen alive, and adds that to its history. It
// keeps what somebody has begun to type.
func (x Reach) Send(ctx context.Context, rt session.Runtime, s Seen, text string) error {
	sent, err := activity.SendUnasked(ctx, x.Activity, rt, s.Record, *s.Live, text, x.Log)
	if err != nil {
		return err
	}
	return x.add(s.Record, sent)
}

// add adds an event to the history of a session.
func (x Reach) add(r session.Record, e history.Event) error {
	e.By = x.By
	if err := history.Append(x.Folder(r), e); err != nil {
		return fmt.Errorf("record an event: %w", err)
	}
	x.Emit(e)
	return nil
}

// Tell adds an event of now to the history of a session.
func (x Reach) Tell(r session.Record, e history.Event) {
	e.Time, e.Address, e.ID, e.Run = x.Now(), r.Address, r.ID, r.Run.ID
	if err := x.add(r, e); err != nil {
		x.Log.Warn("an event is missing in the history", "session", r.Address, "event", e.Kind, "error", err)
	}
}

const (
	// retryAfter is the time between a verification that could not be made and the next try. It
	// doubles up to retryLimit, since each try may run the whole command again: a command of a
	// minute then uses a tenth of a processor, and a fix is detected within a break.
	retryAfter = 10 * time.Second
	retryLimit = 10 * time.Minute
	// toldAfter is the number of tries after which a person is needed. What ends by itself, such as
	// the restart of a container, has ended by then.
	toldAfter = 3
)

// retryDelay returns the time until the next try, after that many in a row.
func retryDelay(tries int) time.Duration {
	d := retryAfter
	for range tries - 1 {
		d = min(2*d, retryLimit)
	}
	return d
}

// Scheduler verifies the work of sessions as their turns end, a few at a time: a command may use
// several processors.
type Scheduler struct {
	Access
	Work *sync.WaitGroup // of running jobs
	Wake func()          // is called when something was verified

	slots chan struct{}
	mu    sync.Mutex
	jobs  map[session.Address]*job
}

// job is the last verification of a session.
type job struct {
	seen     Seen   // by the last look
	of       string // what was verified: a turn, and the block
	running  bool
	notUntil time.Time // after one that could not be made
	failed   string    // why it could not; empty: it was
	tries    int       // of the turn, in a row, that could not be made
	ran      ran       // for the job that runs
	doubted  string    // of, when a change was last taken for one of while it waited
}

// NewScheduler returns a scheduler that has seen nothing.
func NewScheduler(a Access, work *sync.WaitGroup, wake func()) *Scheduler {
	return &Scheduler{Access: a, Work: work, Wake: wake, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), jobs: map[session.Address]*job{}}
}

// See adds a look, and begins what is due, once for each turn. What has begun ends with ctx.
func (x *Scheduler) See(ctx context.Context, all []Seen) {
	for _, s := range all {
		if !x.begin(s) {
			continue
		}
		x.Work.Go(func() {
			err := x.verify(ctx, s)
			say, tell := x.end(s.Record.Address, err)
			if say && ctx.Err() == nil {
				x.Log.Warn("its work cannot be verified now", "session", s.Record.Address, "error", err)
			}
			if tell && ctx.Err() == nil {
				x.Tell(s.Record, history.Event{Kind: history.Escalated, Reason: history.CannotVerify, Detail: err.Error()})
			}
			x.Wake()
		})
	}
}

// begin notes a look, and reports whether the work of a session is to be verified now.
func (x *Scheduler) begin(s Seen) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	j := x.jobs[s.Record.Address]
	if j == nil {
		j = &job{}
		x.jobs[s.Record.Address] = j
	}
	j.seen = s
	of := turnOf(s)
	if j.running || !s.idle() || j.of == of && (j.notUntil.IsZero() || x.Now().Before(j.notUntil)) {
		return false
	}
	if j.of != of {
		j.tries = 0
	}
	j.of, j.running, j.notUntil = of, true, time.Time{}
	return true
}

// turnOf identifies a turn, and how its work is verified.
func turnOf(s Seen) string {
	block, _ := json.Marshal(s.Record.Spec.Verify) // it has only texts and numbers
	return fmt.Sprint(s.Record.ID, s.Doing.Run, s.Doing.Since.UnixNano(), s.Doing.Ended.UnixNano(), string(block))
}

// end notes how a verification ended. It reports whether it could not be made for a new reason, and
// whether a person is needed for that.
func (x *Scheduler) end(a session.Address, err error) (say, tell bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	j := x.jobs[a]
	was := j.failed
	j.running, j.failed = false, ""
	switch {
	case err == nil:
		j.tries = 0
		return false, false
	case errors.Is(err, ErrOutdated): // a later look shows whether anything is left to do
		j.notUntil = x.Now().Add(retryAfter)
		return false, false
	case busy(err): // with the command of a process that was killed, which ends
		j.notUntil = x.Now().Add(retryAfter)
	default:
		j.tries++
		j.notUntil = x.Now().Add(retryDelay(j.tries))
	}
	j.failed = err.Error()
	return j.failed != was, j.tries == toldAfter && !busy(err)
}

// busy reports whether a shim runs another verification.
func busy(err error) bool {
	refusal, is := errors.AsType[*shim.Error](err)
	return is && refusal.Code == shim.CodeBusy
}

func (x *Scheduler) verify(ctx context.Context, s Seen) error {
	last := func() Seen {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.jobs[s.Record.Address].seen
	}
	v, err := x.Verifier(s, func(context.Context) (session.Doing, error) { return last().Doing, nil })
	if err != nil {
		return err
	}
	x.mu.Lock()
	v.ran = &x.jobs[s.Record.Address].ran
	x.mu.Unlock()
	v.Takes = func() error { return last().Takes(x.Now()) }
	v.Slot = func(ctx context.Context) (func(), bool, error) {
		release, waited, err := x.slot(ctx)
		if err == nil && waited && !last().Record.Verified.Same(s.Record.Verified) {
			release()
			err = ErrOutdated // another process has verified it
		}
		return release, err == nil && waited && x.doubts(s.Record.Address), err
	}
	if err = v.Do(ctx); errors.Is(err, ErrWorksOn) {
		return nil // the end of its next turn is verified
	}
	return err
}

// doubts reports whether a change of a workspace counts as one of while its command waited, once for
// each turn: a command may change the workspace each time.
func (x *Scheduler) doubts(a session.Address) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	j := x.jobs[a]
	first := j.doubted != j.of
	j.doubted = j.of
	return first
}

// slot waits until a command may run, and returns a function to call when it has ended.
func (x *Scheduler) slot(ctx context.Context) (release func(), waited bool, err error) {
	release = func() { <-x.slots }
	select {
	case x.slots <- struct{}{}:
		return release, false, nil
	default:
	}
	select {
	case x.slots <- struct{}{}:
		return release, true, nil
	case <-ctx.Done():
		return nil, true, context.Cause(ctx)
	}
}
