package agentform_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// works is an agent's turn: three seconds of work, then rest.
func works(rt *sessiontest.Scripted, name string) {
	rt.Script(name, sessiontest.Step{Activity: session.Working}, sessiontest.Step{After: 3 * time.Second, Activity: session.Idle})
}

func TestWaitTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(sessiontest.Agent{})
		works(rt, "api")
		s, err := l.Launch(t.Context(), "api", robot("write tests"))
		if err != nil {
			t.Fatal(err)
		}
		if s.Status() != session.StatusRunning {
			t.Errorf("before any look it is %s", s.Status())
		}
		began := time.Now()
		o, err := s.WaitTurn(t.Context())
		if took := time.Since(began); err != nil || !o.TurnEnded || o.Activity != session.Idle || took < 3*time.Second || took > 5*time.Second {
			t.Errorf("after %v: %+v, %v", took, o, err)
		}
		if s.Status() != session.StatusRunning {
			t.Errorf("then it is %s", s.Status())
		}

		// What is sent begins another turn.
		if err := s.Send(t.Context(), "go on"); err != nil {
			t.Fatal(err)
		}
		if o, err := s.Observe(t.Context()); err != nil || o.TurnEnded {
			t.Errorf("after it was sent more: %+v, %v", o, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.WaitTurn(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a deadline: %v", err)
		}

		rt.Exit("api", session.Exit{Code: 3})
		if o, err := s.WaitTurn(t.Context()); !errors.Is(err, agentform.ErrOver) || o.Exit == nil || o.Exit.Code != 3 {
			t.Errorf("of an agent that exits: %+v, %v", o, err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if s.Status() != session.StatusStopped {
			t.Errorf("stopped it is %s", s.Status())
		}
	})
}

// TestWaitTurnOfAQueuedMessage checks that the rest between two turns does not end the
// wait for the second, also if nobody has looked before it was sent.
func TestWaitTurnOfAQueuedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(sessiontest.Agent{})
		rt.Script("api", sessiontest.Step{Activity: session.Working}, sessiontest.Step{After: 3 * time.Second, Activity: session.Idle},
			sessiontest.Step{After: 4 * time.Second, Activity: session.Working}, sessiontest.Step{After: 7 * time.Second, Activity: session.Idle})
		s, err := l.Launch(t.Context(), "api", robot("write tests"))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(t.Context(), "and the docs"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := s.WaitTurn(t.Context()); err != nil || time.Since(began) < 7*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestWatchATurn checks that watching ends with the turn, unless more is sent, and
// that the callbacks are called.
func TestWatchATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(sessiontest.Agent{})
		works(rt, "api")
		s, err := l.Launch(t.Context(), "api", robot("write tests"))
		if err != nil {
			t.Fatal(err)
		}
		idle, turns := 0, 0
		tell := agentform.Callbacks{Idle: func(agentform.Observation) { idle++ }}
		for o, err := range s.Watch(t.Context(), time.Second, tell) {
			if err != nil {
				t.Fatal(err)
			}
			if o.TurnEnded {
				if turns++; turns == 1 {
					if err := s.Send(t.Context(), "and the docs"); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if idle != 2 || turns != 2 {
			t.Errorf("%d turns, told %d times", turns, idle)
		}

		// Until it exits, the end of a turn is an observation as any other.
		rt.Script("long", sessiontest.Step{Activity: session.Working}, sessiontest.Step{After: 3 * time.Second, Activity: session.Idle},
			sessiontest.Step{After: time.Minute, Exit: &session.Exit{}})
		if s, err = l.Launch(t.Context(), "long", robot("write tests")); err != nil {
			t.Fatal(err)
		}
		var last agentform.Observation
		idle = 0
		for o, err := range s.WatchExit(t.Context(), time.Second, tell) {
			if err != nil {
				t.Fatal(err)
			}
			last = o
		}
		if last.Status != session.StatusExited || idle != 1 {
			t.Errorf("last %+v, told %d times", last, idle)
		}
	})
}

// phrased is an agent that only its screen tells of.
type phrased struct{ sessiontest.Agent }

func (p phrased) Detect(e session.Evidence) session.Detection {
	r := p.Agent.Detect(e)
	if r.Activity == session.Done || r.Activity == session.Failed {
		r.Source = "screen"
	}
	return r
}

// TestPhraseEndsNothing checks that an agent which prints that it has failed, or is
// done, and prints on is not at its end.
func TestPhraseEndsNothing(t *testing.T) {
	for _, says := range []session.Activity{session.Failed, session.Done} {
		synctest.Test(t, func(t *testing.T) {
			l, rt := newLauncher(phrased{})
			rt.Script("api", sessiontest.Step{Activity: session.Working},
				sessiontest.Step{After: 3 * time.Second, Activity: says, Screen: "a test " + string(says)},
				sessiontest.Step{After: 7 * time.Second, Screen: "still at it"},
				sessiontest.Step{After: 10 * time.Second, Screen: "now it rests"})
			s, err := l.Launch(t.Context(), "api", robot("write tests"))
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			var seen []session.Status
			for o := range s.Watch(t.Context(), 500*time.Millisecond) {
				seen = append(seen, o.Status)
			}
			want := []session.Status{session.StatusRunning, session.Status(says)}
			if took := time.Since(began); took < 15*time.Second || took > 17*time.Second || !slices.Equal(slices.Compact(seen), want) {
				t.Errorf("%s: after %v, %v", says, took, seen)
			}
		})
	}
}

// TestLostIsNotGone checks that a session whose place cannot be found is not gone while
// its agent lives.
func TestLostIsNotGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(sessiontest.Agent{})
		alive := true
		var exit *session.Exit
		l.Facts = func(string) session.RunFacts {
			return session.RunFacts{Claimed: true, Alive: alive, Agent: session.Process{PID: 42}, Exit: exit}
		}
		s, err := l.Launch(t.Context(), "api", robot(""))
		if err != nil {
			t.Fatal(err)
		}
		rt.Vanish("api")
		if o, err := s.Observe(t.Context()); err != nil || o.Status.Terminal() || o.Activity != session.NoActivity || o.Detail == "" {
			t.Errorf("its agent lives: %+v, %v", o, err)
		}
		alive, exit = false, &session.Exit{Cause: "self"}
		if o, err := s.Observe(t.Context()); err != nil || o.Status != session.StatusExited || o.Exit == nil {
			t.Errorf("it exited: %+v, %v", o, err)
		}
	})
}

// TestUnknownIsNoNews checks that a look at which nothing can be known ends no watching,
// and that what was told before it is not told again after it.
func TestUnknownIsNoNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, rt := newLauncher(sessiontest.Agent{})
		rt.Script("api", sessiontest.Step{Activity: session.Working}, sessiontest.Step{After: 3 * time.Second, Activity: session.Idle},
			sessiontest.Step{After: time.Minute, Exit: &session.Exit{}})
		s, err := l.Launch(t.Context(), "api", robot("write tests"))
		if err != nil {
			t.Fatal(err)
		}
		sees := func(v session.Liveness) { rt.Edit("api", func(st *sessiontest.State) { st.Live.Liveness = v }) }
		var changes, unknown, idle int
		tell := agentform.Callbacks{
			StatusChanged: func(session.Status, session.Status, string) { changes++ },
			Idle:          func(agentform.Observation) { idle++ },
		}
		var last agentform.Observation
		for o, err := range s.WatchExit(t.Context(), time.Second, tell) {
			if err != nil {
				t.Fatal(err)
			}
			if o.Activity == session.NoActivity {
				unknown++
				sees(session.Alive)
				if o.Status != last.Status || o.TurnEnded != last.TurnEnded {
					t.Errorf("unknown: %+v after %+v", o, last)
				}
			} else if o.Status == session.StatusRunning {
				sees(session.Unknown) // at each second look
			}
			last = o
		}
		if last.Status != session.StatusExited || unknown < 10 || changes != 1 || idle != 1 {
			t.Errorf("last %+v; of %d unknown looks, told %d changes and %d ends of a turn", last, unknown, changes, idle)
		}
	})
}
