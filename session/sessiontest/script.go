package sessiontest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// Op names an operation of the runtime, for faults and for the list of calls.
type Op string

// The operations.
const (
	OpObserve Op = "observe"
	OpCreate  Op = "create"
	OpRestart Op = "restart"
	OpStop    Op = "stop"
	OpRemove  Op = "remove"
	OpPause   Op = "pause"
	OpResume  Op = "resume"
	OpSend    Op = "send"
	OpCapture Op = "capture"
)

// Call is one call of the runtime, whatever became of it.
type Call struct {
	Op   Op
	Name string // of the place; empty for observe
	Run  string // where the operation is told one
}

// State is everything the runtime knows of a place.
type State struct {
	Live     session.Live
	Launch   session.Launch  // of the run that is in it now
	Launches int             // runs started in it so far
	Sent     []session.Input // all that was typed, oldest first

	script []Step
}

// Step is something that happens in a run by itself.
type Step struct {
	After    time.Duration    // since the run's start
	Vital    session.Vital    // empty: as it was
	Activity session.Activity // empty: as it was; it is put into the title, where Agent reads it
	Title    string           // empty: as it was
	Screen   string           // empty: as it was
	Exit     *session.Exit    // the agent leaves so; at 0 with cause failed_start, the launch fails
}

// Script says what happens in the next run that is launched under the name.
// Called again, it says so of the run after that; the last script also serves
// all further runs. Steps are in order of time.
func (s *Scripted) Script(name string, steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[name] = append(s.scripts[name], steps)
}

// State is a copy of a place's state, and whether there is such a place.
func (s *Scripted) State(name string) (State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	st := s.places[name]
	if st == nil {
		return State{}, false
	}
	return st.copy(), true
}

// Last is State, or, when there is no such place any more, how it was when it was
// taken away: what was typed into a session that has been stopped since.
func (s *Scripted) Last(name string) (State, bool) {
	if st, ok := s.State(name); ok {
		return st, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.last[name]
	return st.copy(), ok
}

func (st State) copy() State {
	st.Live.Exit = clone(st.Live.Exit)
	st.Sent = slices.Clone(st.Sent)
	st.Launch.Secrets = maps.Clone(st.Launch.Secrets)
	return st
}

// Edit changes a place by hand: its flags, its screen, its mark. It panics if
// there is no such place.
func (s *Scripted) Edit(name string, change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	change(s.must(name))
}

// Plant puts an object there that was not created through the runtime: someone
// else's, or what another agentform left. Live.Place.Name says where; whether
// it is foreign follows from its mark.
func (s *Scripted) Plant(l session.Live) session.Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.Place.Runtime = s.kind
	l.Foreign = s.foreign(l.Mark)
	s.places[l.Place.Name] = &State{Live: l}
	if run := l.Mark.Run; run != "" {
		s.runs[run] = session.RunFacts{Claimed: true, Alive: l.Vital == session.Alive, Agent: l.Agent, Exit: clone(l.Exit), BootID: l.BootID}
	}
	return l.Place
}

// Exit lets the agent of a place leave. An empty cause is "self".
func (s *Scripted) Exit(name string, e session.Exit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	s.end(s.must(name), e)
}

// Kill lets the agent of a place die by SIGKILL.
func (s *Scripted) Kill(name string) { s.Exit(name, session.Exit{Signal: "SIGKILL"}) }

// Vanish takes a place away, and its agent with it, behind agentform's back.
func (s *Scripted) Vanish(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	s.clear(s.must(name))
}

// clear takes a place away, and its agent with it.
func (s *Scripted) clear(st *State) {
	s.end(st, session.Exit{Cause: "hangup", Signal: "SIGHUP"})
	name := st.Live.Place.Name
	s.last[name] = st.copy()
	delete(s.places, name)
}

// Fail lets the n-th next call of the operation (1 is the next one) return err
// instead of doing anything.
func (s *Scripted) Fail(op Op, n int, err error) { s.fault(op, fault{in: n, err: err}) }

// FailAfter lets the n-th next call of the operation do its work and return err
// all the same: the answer was lost.
func (s *Scripted) FailAfter(op Op, n int, err error) {
	s.fault(op, fault{in: n, err: err, late: true})
}

// Unreachable lets every call return err, until it is called with nil.
func (s *Scripted) Unreachable(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

// Slow lets each call of the operation take that long before it does anything.
// A call whose context ends meanwhile does nothing.
func (s *Scripted) Slow(op Op, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow[op] = d
}

// Forget drops the calls that were recorded and what is known of runs that no place
// holds, for tests that run for so long that this would count.
func (s *Scripted) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.last = nil, map[string]State{}
	held := map[string]bool{}
	for _, st := range s.places {
		held[st.Live.Mark.Run] = true
	}
	maps.DeleteFunc(s.runs, func(run string, _ session.RunFacts) bool { return !held[run] })
}

// Calls are the calls of the given operations so far, oldest first; without any
// operation, of all but observe.
func (s *Scripted) Calls(ops ...Op) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if slices.Contains(ops, c.Op) || len(ops) == 0 && c.Op != OpObserve {
			out = append(out, c)
		}
	}
	return out
}

type fault struct {
	in   int
	err  error
	late bool
}

func (s *Scripted) fault(op Op, f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[op] = append(s.faults[op], f)
}

// do runs one operation: it is noted, takes its time, meets its fault, or works.
func (s *Scripted) do(ctx context.Context, c Call, work func() error) error {
	s.mu.Lock()
	s.calls = append(s.calls, c)
	late, err := s.meet(c.Op)
	wait := s.slow[c.Op]
	s.mu.Unlock()
	if err == nil && wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		s.mu.Lock()
		s.advance()
		if err = s.down; err == nil {
			err = work()
		}
		s.mu.Unlock()
	}
	if err == nil {
		err = late
	}
	switch {
	case err == nil:
		return nil
	case c.Op == OpObserve:
		return fmt.Errorf("look at sessions: %w", err)
	}
	return fmt.Errorf("%s session %q: %w", c.Op, c.Name, err)
}

// meet counts the operation's faults down and returns those that are due.
func (s *Scripted) meet(op Op) (late, now error) {
	var rest []fault
	for _, f := range s.faults[op] {
		f.in--
		switch {
		case f.in > 0:
			rest = append(rest, f)
		case f.late:
			late = f.err
		default:
			now = f.err
		}
	}
	s.faults[op] = rest
	return late, now
}

func (s *Scripted) must(name string) *State {
	st := s.places[name]
	if st == nil {
		panic(fmt.Sprintf("sessiontest: no place %q", name))
	}
	return st
}

// advance lets everything happen whose time has come.
func (s *Scripted) advance() {
	for _, st := range s.places {
		s.play(st)
	}
}

func (s *Scripted) play(st *State) {
	if st.Live.Frozen {
		return
	}
	for len(st.script) > 0 && s.now().Sub(st.Live.Started) >= st.script[0].After {
		step := st.script[0]
		st.script = st.script[1:]
		at := st.Live.Started.Add(step.After)
		if step.Vital != "" {
			st.Live.Vital = step.Vital
		}
		if step.Activity != "" {
			st.Live.Title = string(step.Activity)
		}
		if step.Title != "" {
			st.Live.Title = step.Title
		}
		if step.Screen != "" {
			st.Live.Screen, st.Live.MovedAt = step.Screen, at
		}
		if step.Exit != nil {
			e := *step.Exit
			e.At = at
			s.end(st, e)
		}
	}
}

// end lets the agent of a place leave, once.
func (s *Scripted) end(st *State, e session.Exit) {
	st.script = nil
	if st.Live.Vital == session.Dead {
		return
	}
	if e.Cause == "" {
		e.Cause = "self"
	}
	if e.At.IsZero() {
		e.At = s.now()
	}
	e.Ran = session.Duration(e.At.Sub(st.Live.Started))
	st.Live.Vital, st.Live.Exit, st.Live.Frozen = session.Dead, &e, false
	if f, ok := s.runs[st.Live.Mark.Run]; ok {
		f.Alive, f.Exit = false, clone(&e)
		s.runs[st.Live.Mark.Run] = f
	}
}
