package sessiontest

import (
	"maps"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// Call is one call of the runtime, whatever its outcome.
type Call struct {
	Op   Op
	Name string // of the place; empty for observe
	Run  string // if the operation has one
}

// State is everything that the runtime has of a place.
type State struct {
	Live     session.Live
	Launch   session.Launch  // of the last run
	Launches int             // runs started so far
	Sent     []session.Input // oldest first

	script []Step
}

// Step is something that happens in a run by itself.
type Step struct {
	After    time.Duration    // since the run's start
	Liveness session.Liveness // empty: unchanged
	Activity session.Activity // empty: unchanged; it becomes the title, where Agent reads it
	Title    string           // empty: unchanged
	Screen   string           // empty: unchanged
	Exit     *session.Exit    // the agent exits; at 0 with cause failed_start, the launch fails
}

// Script sets the events of the next run that is launched under the name. The next call does so for
// the run after that; the last script also serves all further runs. Steps are ordered by time.
func (s *Scripted) Script(name string, steps ...Step) {
	defer s.world.lock()()
	s.world.scripts[name] = append(s.world.scripts[name], steps)
}

// State returns a copy of a place's state, and whether the place exists.
func (s *Scripted) State(name string) (State, bool) {
	defer s.world.lock()()
	st := s.world.places[name]
	if st == nil {
		return State{}, false
	}
	return st.copy(), true
}

// Last returns the state of a place, or of one that was removed, when it was.
func (s *Scripted) Last(name string) (State, bool) {
	if st, ok := s.State(name); ok {
		return st, true
	}
	defer s.world.lock()()
	st, ok := s.world.last[name]
	return st.copy(), ok
}

func (st State) copy() State {
	st.Live.Exit = clone(st.Live.Exit)
	st.Sent = slices.Clone(st.Sent)
	st.Launch.Secrets = maps.Clone(st.Launch.Secrets)
	return st
}

// Edit changes a place, which must exist: its flags, its screen, its mark.
func (s *Scripted) Edit(name string, change func(*State)) {
	defer s.world.lock()()
	change(s.world.must(name))
}

// Plant adds an object that was not created through the runtime: a foreign one, or one that another
// agentform left. Live.Location.Name is its name. Its mark decides whether it is foreign.
func (s *Scripted) Plant(l session.Live) session.Location {
	defer s.world.lock()()
	l.Location.Runtime = kind
	l.Foreign = s.world.foreign(l.Mark)
	s.world.places[l.Location.Name] = &State{Live: l}
	if run := l.Mark.Run; run != "" {
		s.world.runs[run] = session.RunFacts{Claimed: true, Alive: l.Liveness == session.Alive, Agent: l.Agent, Exit: clone(l.Exit), BootID: l.BootID}
	}
	return l.Location
}

// Exit makes the agent of a place exit. An empty cause is CauseSelf.
func (s *Scripted) Exit(name string, e session.Exit) {
	defer s.world.lock()()
	s.world.end(s.world.must(name), e)
}

// Kill ends the agent of a place with SIGKILL.
func (s *Scripted) Kill(name string) { s.Exit(name, session.Exit{Signal: "SIGKILL"}) }

// Vanish removes a place and ends its agent, without a call of the runtime.
func (s *Scripted) Vanish(name string) {
	defer s.world.lock()()
	s.world.clear(s.world.must(name))
}

// Places returns the names of all places, sorted.
func (s *Scripted) Places() []string {
	defer s.world.lock()()
	return slices.Sorted(maps.Keys(s.world.places))
}

// Facts returns what a run's directory would say, also of a run whose place has
// vanished.
func (s *Scripted) Facts(run string) session.RunFacts {
	defer s.world.lock()()
	f := s.world.runs[run]
	f.Exit = clone(f.Exit)
	return f
}

// BootID returns the boot id of the runtime's runs.
func (s *Scripted) BootID() string { return bootID }

// Calls returns the calls of the given operations, oldest first; without any operation,
// of all but observe.
func (s *Scripted) Calls(ops ...Op) []Call {
	defer s.world.lock()()
	var out []Call
	for _, c := range s.calls {
		if slices.Contains(ops, c.Op) || len(ops) == 0 && c.Op != OpObserve {
			out = append(out, c)
		}
	}
	return out
}

// Forget drops the recorded calls and the facts of runs without a place, for tests that
// run long.
func (s *Scripted) Forget() {
	defer s.world.lock()()
	s.calls, s.world.last = nil, map[string]State{}
	held := map[string]bool{}
	for _, st := range s.world.places {
		held[st.Live.Mark.Run] = true
	}
	maps.DeleteFunc(s.world.runs, func(run string, _ session.RunFacts) bool { return !held[run] })
}
