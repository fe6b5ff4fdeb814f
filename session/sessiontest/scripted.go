package sessiontest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// Scripted is a session.Runtime in memory: places by name, each with one agent that does
// what its script says. Its only clock is its Clock, so that it is deterministic and
// works inside testing/synctest. It is safe for use by many goroutines.
type Scripted struct {
	Clock  *Clock
	Faults *Faults
	world  *world
	calls  []Call
}

var _ session.Runtime = (*Scripted)(nil)

// New returns a runtime with nothing in it. Objects whose mark names another lineage are
// foreign; with an empty lineage only those without a mark are. An agentform.Launcher uses
// its Project as the lineage.
func New(lineage string) *Scripted { return NewWith(lineage, session.TraitsOf(kind)) }

// NewWith is New with other traits.
func NewWith(lineage string, t session.Traits) *Scripted {
	clock := &Clock{}
	return &Scripted{
		Clock:  clock,
		Faults: &Faults{next: map[Op][]fault{}, slow: map[Op]time.Duration{}},
		world: &world{lineage: lineage, traits: t, clock: clock, pids: 1000, places: map[string]*State{}, last: map[string]State{},
			scripts: map[string][][]Step{}, runs: map[string]session.RunFacts{}},
	}
}

// do makes one call: it records the call, waits, fails as Faults says, or works.
func (s *Scripted) do(ctx context.Context, c Call, work func(*world) error) error {
	unlock := s.world.lock()
	s.calls = append(s.calls, c)
	unlock()
	delay, err, after := s.Faults.of(c.Op)
	if err == nil && delay > 0 {
		t := time.NewTimer(delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if err = cmp.Or(err, ctx.Err(), s.Faults.unreachable()); err == nil {
		unlock := s.world.lock()
		err = work(s.world)
		unlock()
	}
	switch err = cmp.Or(err, after); {
	case err == nil:
		return nil
	case c.Op == OpObserve:
		return fmt.Errorf("inspect sessions: %w", err)
	}
	return fmt.Errorf("%s session %q: %w", c.Op, c.Name, err)
}

// Traits returns the traits that the runtime was made with.
func (s *Scripted) Traits() session.Traits { return s.world.traits }

// Observe returns every place, sorted by name.
func (s *Scripted) Observe(ctx context.Context, screens bool) ([]session.Live, error) {
	var out []session.Live
	err := s.do(ctx, Call{Op: OpObserve}, func(w *world) error {
		for _, st := range w.places {
			l := st.Live
			l.Exit = clone(l.Exit)
			if l.Show(l.Screen); !screens {
				l.Screen, l.Blank = "", false
			}
			out = append(out, l)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Location.Name < out[j].Location.Name })
	return out, nil
}

// Create makes the place and starts its script.
func (s *Scripted) Create(ctx context.Context, l session.Launch) (session.Location, error) {
	var p session.Location
	err := s.do(ctx, Call{Op: OpCreate, Name: l.Name, Run: l.Mark.Run}, func(w *world) error {
		if w.places[l.Name] != nil {
			return fmt.Errorf("the place %w", session.ErrExists)
		}
		p = session.Location{Runtime: kind, Name: l.Name, Pane: fmt.Sprintf("%%%d", w.pids)}
		st := &State{Live: session.Live{Location: p, PlaceUp: true, Size: [2]int{200, 50}}}
		w.places[l.Name] = st
		if err := w.start(st, l); err != nil {
			delete(w.places, l.Name)
			return err
		}
		return nil
	})
	if err != nil {
		return session.Location{}, err
	}
	return p, nil
}

// Restart starts the next run, and its script, in a place whose agent is dead.
func (s *Scripted) Restart(ctx context.Context, p session.Location, l session.Launch) (session.Location, error) {
	err := s.do(ctx, Call{Op: OpRestart, Name: p.Name, Run: l.Mark.Run}, func(w *world) error {
		st, err := w.find(p)
		if err == nil && st.Live.Liveness != session.Dead {
			err = fmt.Errorf("its agent is %s", st.Live.Liveness)
		}
		if err != nil {
			return err
		}
		return w.start(st, l)
	})
	if err != nil {
		return session.Location{}, err
	}
	return p, nil
}

// Stop ends the run's agent if it is alive.
func (s *Scripted) Stop(ctx context.Context, p session.Location, run string, how session.Stop) error {
	return s.do(ctx, Call{Op: OpStop, Name: p.Name, Run: run}, func(w *world) error {
		if st := w.places[p.Name]; st != nil && st.Live.Mark.Run == run && st.Live.Liveness != session.Dead {
			w.end(st, session.Exit{Cause: session.CauseRequested, Signal: cmp.Or(how.Signal, "SIGTERM")})
		}
		return nil
	})
}

// Remove removes the place.
func (s *Scripted) Remove(ctx context.Context, p session.Location) error {
	return s.do(ctx, Call{Op: OpRemove, Name: p.Name}, func(w *world) error {
		if st := w.places[p.Name]; st != nil {
			if st.Live.Foreign {
				return errForeign
			}
			w.clear(st)
		}
		return nil
	})
}

// Pause sets InputOff, and Frozen with session.Freeze.
func (s *Scripted) Pause(ctx context.Context, p session.Location, run, mode string) error {
	return s.do(ctx, Call{Op: OpPause, Name: p.Name, Run: run}, func(w *world) error {
		st, err := w.holding(p, run)
		switch {
		case err != nil:
			return err
		case mode == session.Freeze && !w.traits.Freeze:
			return errors.New("the runtime cannot freeze an agent")
		case mode == session.Freeze && st.Live.Liveness != session.Alive:
			return fmt.Errorf("its agent is %s", st.Live.Liveness)
		case mode != session.Freeze && mode != session.Detach:
			return fmt.Errorf("unknown mode %q", mode)
		}
		st.Live.Frozen = st.Live.Frozen || mode == session.Freeze
		st.Live.InputOff, st.Live.Attached = true, 0
		return nil
	})
}

// Resume undoes both modes of Pause.
func (s *Scripted) Resume(ctx context.Context, p session.Location, run string) error {
	return s.do(ctx, Call{Op: OpResume, Name: p.Name, Run: run}, func(w *world) error {
		st, err := w.holding(p, run)
		if err == nil {
			st.Live.InputOff, st.Live.Frozen = false, false
		}
		return err
	})
}

// Send adds the input to State.Sent. The screen does not change, unless the agent is
// blocked: it shows the text, and at Enter the agent works until its next step.
func (s *Scripted) Send(ctx context.Context, p session.Location, in session.Input) error {
	return s.do(ctx, Call{Op: OpSend, Name: p.Name}, func(w *world) error {
		st, err := w.find(p)
		switch {
		case err != nil:
			return err
		case st.Live.InputOff || st.Live.Frozen:
			return session.ErrRefused
		case st.Live.Liveness == session.Dead:
			return errors.New("its agent is dead")
		}
		st.Sent = append(st.Sent, in)
		if st.Live.Title == string(session.Blocked) {
			st.Live.Screen += in.Text
			if in.Key == "Enter" || in.Key == "" && !in.NoEnter {
				st.Live.Screen, st.Live.Title = st.Live.Screen+"\n", string(session.Working)
			}
			st.Live.MovedAt = w.clock.Now()
		}
		return nil
	})
}

// Capture returns the last lines of State.Live.Screen.
func (s *Scripted) Capture(ctx context.Context, p session.Location, lines int) (text string, err error) {
	err = s.do(ctx, Call{Op: OpCapture, Name: p.Name}, func(w *world) error {
		st := w.places[p.Name]
		if st == nil || !st.Live.PlaceUp {
			return session.ErrGone
		}
		rows := strings.Split(strings.TrimRight(st.Live.Screen, "\n "), "\n")
		if lines > 0 && len(rows) > lines {
			rows = rows[len(rows)-lines:]
		}
		text = strings.Join(rows, "\n")
		return nil
	})
	return text, err
}

// Attach returns a command that prints which session it would attach to.
func (s *Scripted) Attach(p session.Location) []string { return []string{"echo", "attach " + p.Name} }
