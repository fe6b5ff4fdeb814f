package agentform

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/agentform/agentform/session"
)

// Observation is what is known of a session at one time.
type Observation struct {
	At       time.Time
	Status   session.Status
	Activity session.Activity
	Detail   string // for people: the question, the limit, the failure
	// Changed says that the screen without its status bar differs from the last one.
	Changed bool
	PR      string        // URL of a pull request on the screen; empty: none
	Snippet string        // the last SnippetLimit characters of the screen
	Exit    *session.Exit // how the agent exited; nil: it did not
	// TurnEnded says that the agent has finished its prompt or what it was last sent,
	// and rests. It takes several observations to know that.
	TurnEnded bool
	// Answer is the agent's last message in its own session file; empty: it has none.
	Answer string
}

// SnippetLimit is how many characters of the screen an Observation has.
const SnippetLimit = 500

// Callbacks are called by Monitor, in its goroutine. Each may be nil.
type Callbacks struct {
	// StatusChanged is called when the status differs from that of the last
	// observation, with at most session.TailLimit bytes of the screen.
	StatusChanged func(old, now session.Status, output string)
	// PRDetected is called once for each URL.
	PRDetected func(url string)
	// Idle is called once for each turn that has ended.
	Idle func(Observation)
}

// Until says how long a session is watched.
type Until string

// A session is watched until its turn has ended or until it exits. A one-shot agent
// exits with its turn.
const (
	UntilTurn Until = "turn"
	UntilExit Until = "exit"
)

// Observe observes the session once.
func (s *Session) Observe(ctx context.Context) (Observation, error) {
	return s.Monitor(ctx, Callbacks{})
}

// Monitor observes the session once and calls back what has changed since the last
// observation of this Session. The error says that the runtime could not be reached,
// and nothing about the session.
func (s *Session) Monitor(ctx context.Context, tell Callbacks) (Observation, error) {
	return s.monitor(ctx, 0, tell)
}

// monitor is Monitor with an observation of the runtime that is at most age old.
func (s *Session) monitor(ctx context.Context, age time.Duration, tell ...Callbacks) (Observation, error) {
	l, err := s.live(ctx, age)
	if err != nil {
		return Observation{}, fmt.Errorf("monitor session %q: %w", s.rec.ID, err)
	}
	o, n := s.tracker.observe(&s.run, l, s.launcher.now())
	for _, t := range tell {
		if n.statusChanged && t.StatusChanged != nil {
			t.StatusChanged(n.old, o.Status, n.screen)
		}
		if n.request && t.PRDetected != nil {
			t.PRDetected(o.PR)
		}
		if n.turnEnded && t.Idle != nil {
			t.Idle(o)
		}
	}
	return o, nil
}

// Watch observes the session at the interval until its turn has ended
// (Observation.TurnEnded), it has ended (Status.Terminal), or ctx ends. The last
// observation says which. If the loop sends more, watching continues.
//
// An unreachable runtime is an error, and watching continues. Observations are shared
// by all sessions of a Launcher, and can be a quarter of the interval old.
func (s *Session) Watch(ctx context.Context, every time.Duration, tell ...Callbacks) iter.Seq2[Observation, error] {
	return s.watch(ctx, every, UntilTurn, tell)
}

// WatchExit is Watch for as long as the agent lives.
func (s *Session) WatchExit(ctx context.Context, every time.Duration, tell ...Callbacks) iter.Seq2[Observation, error] {
	return s.watch(ctx, every, UntilExit, tell)
}

func (s *Session) watch(ctx context.Context, every time.Duration, until Until, tell []Callbacks) iter.Seq2[Observation, error] {
	return func(yield func(Observation, error) bool) {
		for age := time.Duration(0); ; age = every / 4 {
			o, err := s.monitor(ctx, age, tell...)
			if !yield(o, err) || err == nil && (o.Status.Terminal() || until == UntilTurn && o.TurnEnded && s.tracker.resting()) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
		}
	}
}

// turnInterval is how often WaitTurn observes the session.
const turnInterval = 250 * time.Millisecond

// WaitTurn waits until the agent has finished what it was last given, and returns that
// observation. It waits on while the runtime cannot be reached. The error is that of
// ctx, or ErrOver (errors.Is) if the session failed or exited first.
func (s *Session) WaitTurn(ctx context.Context) (Observation, error) {
	for {
		o, err := s.Observe(ctx)
		switch {
		case err != nil:
		case o.TurnEnded || o.Status == session.StatusDone:
			return o, nil
		case o.Status.Terminal():
			return o, fmt.Errorf("wait for the turn of session %q: it is %s (%s) and %w", s.rec.ID, o.Status, o.Detail, ErrOver)
		}
		select {
		case <-ctx.Done():
			return o, errors.Join(context.Cause(ctx), err)
		case <-time.After(turnInterval):
		}
	}
}
