package sessiontest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/agentform/agentform/session"
)

const (
	kind   = "scripted"
	bootID = "scripted-boot"
)

// world is what the runtime holds. Its methods expect that it is locked.
type world struct {
	lineage string
	traits  session.Traits
	clock   *Clock

	mu      sync.Mutex
	places  map[string]*State
	last    map[string]State // of places that were removed
	scripts map[string][][]Step
	runs    map[string]session.RunFacts
	pids    int
}

// lock locks the world, plays all steps that are due and returns what unlocks it.
func (w *world) lock() (unlock func()) {
	w.mu.Lock()
	for _, st := range w.places {
		w.play(st)
	}
	return w.mu.Unlock
}

func (w *world) must(name string) *State {
	st := w.places[name]
	if st == nil {
		panic(fmt.Sprintf("sessiontest: no place %q", name))
	}
	return st
}

var errForeign = errors.New("it is not managed by agentform")

func (w *world) foreign(m session.Mark) bool {
	return m == (session.Mark{}) || w.lineage != "" && m.Project != w.lineage
}

// find returns a place that exists and is not foreign.
func (w *world) find(p session.Location) (*State, error) {
	st := w.places[p.Name]
	switch {
	case st == nil || !st.Live.PlaceUp:
		return nil, session.ErrGone
	case st.Live.Foreign:
		return nil, errForeign
	}
	return st, nil
}

// holding returns a place that holds the run.
func (w *world) holding(p session.Location, run string) (*State, error) {
	st, err := w.find(p)
	if err == nil && st.Live.Mark.Run != run {
		err = fmt.Errorf("it has run %s, not %s", st.Live.Mark.Run, run)
	}
	return st, err
}

// start starts a run in the place. It fails if the script's first step fails the start.
func (w *world) start(st *State, l session.Launch) error {
	if run := l.Mark.Run; run != "" && w.runs[run].Claimed {
		return fmt.Errorf("run %s was started before", run)
	}
	st.script = nil
	if queue := w.scripts[l.Name]; len(queue) > 0 {
		st.script = queue[0]
		if len(queue) > 1 {
			w.scripts[l.Name] = queue[1:]
		}
	}
	st.Launch, st.Launches = l, st.Launches+1
	now, old := w.clock.Now(), st.Live
	st.Live = session.Live{Mark: l.Mark, Location: old.Location, PlaceUp: old.PlaceUp, Size: old.Size, Attached: old.Attached, Spec: old.Spec,
		Foreign: w.foreign(l.Mark), Liveness: session.Alive, Dir: l.Dir, Started: now, MovedAt: now}
	w.pids++
	if w.traits.HostFiles { // where the shim writes them
		st.Live.Agent, st.Live.BootID = session.Process{PID: w.pids, Start: uint64(w.pids)}, bootID
	}
	w.runs[l.Mark.Run] = session.RunFacts{Claimed: true, Alive: true, Agent: st.Live.Agent, BootID: st.Live.BootID}
	w.play(st)
	if e := st.Live.Exit; e != nil && e.Cause == session.CauseFailedStart {
		return fmt.Errorf("failed_start: %s", e.Detail)
	}
	return nil
}

// play plays the steps of a place that are due.
func (w *world) play(st *State) {
	if st.Live.Frozen {
		return
	}
	now := w.clock.Now()
	for len(st.script) > 0 && now.Sub(st.Live.Started) >= st.script[0].After {
		step := st.script[0]
		st.script = st.script[1:]
		at := st.Live.Started.Add(step.After)
		if step.Liveness != "" {
			st.Live.Liveness = step.Liveness
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
			w.end(st, e)
		}
	}
}

// end makes the agent of a place exit, once.
func (w *world) end(st *State, e session.Exit) {
	st.script = nil
	if st.Live.Liveness == session.Dead {
		return
	}
	if e.Cause == "" {
		e.Cause = session.CauseSelf
	}
	if e.At.IsZero() {
		e.At = w.clock.Now()
	}
	e.Ran = session.Duration(e.At.Sub(st.Live.Started))
	st.Live.Liveness, st.Live.Exit, st.Live.Frozen = session.Dead, &e, false
	if f, ok := w.runs[st.Live.Mark.Run]; ok {
		f.Alive, f.Exit = false, clone(&e)
		w.runs[st.Live.Mark.Run] = f
	}
}

// clear removes a place and ends its agent.
func (w *world) clear(st *State) {
	w.end(st, session.Exit{Cause: session.CauseHangup, Signal: "SIGHUP"})
	name := st.Live.Location.Name
	w.last[name] = st.copy()
	delete(w.places, name)
}

func clone(e *session.Exit) *session.Exit {
	if e == nil {
		return nil
	}
	c := *e
	return &c
}
