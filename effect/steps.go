package effect

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
)

// Step is a Handler for interpreters that thread a store: what an effect gives
// depends on the environment and on the store, and so does the next store. A
// store that was handed in is not changed, so a program can be taken up from any
// step again.
type Step func(ctx context.Context, e Effect, env Env, store Store) (value any, next Store, err error)

// Env is what stays the same for a whole program.
type Env struct {
	// Scripts is what each session does, by name: an observation a look, the last
	// one for ever.
	Scripts map[string][]agentform.Observation
	Start   time.Time // the time at which the program begins
}

// Store is what a program has done so far.
type Store struct {
	Sessions map[string]SessionState // by name
	Slept    time.Duration           // in all
}

// SessionState is one session in a Store.
type SessionState struct {
	Handle  agentform.Handle
	Spec    session.Spec
	Status  session.Status
	Output  string          // what it shows
	Sent    []session.Input // all that was typed, oldest first
	Looks   int             // how often it was monitored
	Stopped bool
}

// Simulate is a Step without any effect on the world: sessions do what
// Env.Scripts says, and time passes only by Sleep.
func Simulate(_ context.Context, e Effect, env Env, store Store) (any, Store, error) {
	var v any = None{}
	switch e := e.(type) {
	case Launch:
		if e.Name == "" {
			e.Name = fmt.Sprintf("task-%08x", len(store.Sessions))
		}
		if s, taken := store.Sessions[e.Name]; taken && !s.Stopped {
			return agentform.Handle{}, store, &agentform.LaunchError{Name: e.Name, Agent: e.Spec.Agent.Name, Err: session.ErrExists}
		}
		v = agentform.Handle{Name: e.Name, Agent: e.Spec.Agent.Name, Dir: e.Spec.Workspace.Path, Run: "run-" + e.Name}
	case Sleep:
	case Monitor, Capture, Send, Stop:
		if err := aimless(e); err != nil {
			return nil, store, err
		}
		name, _ := target(e)
		s, there := store.Sessions[name]
		_, stops := e.(Stop)
		switch gone := !there || s.Stopped; {
		case gone && stops:
			return v, store, nil
		case gone:
			return nil, store, fmt.Errorf("session %q %w", name, session.ErrGone)
		}
		switch e.(type) {
		case Monitor:
			o := look(env.Scripts[name], s.Looks)
			o.At = env.Start.Add(store.Slept)
			o.Changed = o.Snippet != s.Output
			v = o
		case Capture:
			v = s.Output
		}
	default:
		return nil, store, fmt.Errorf("effect %T is not known", e)
	}
	return v, account(store, e, v), nil
}

// look is the n-th observation of a script.
func look(script []agentform.Observation, n int) agentform.Observation {
	if len(script) == 0 {
		return agentform.Observation{Status: session.StatusRunning}
	}
	return script[min(n, len(script)-1)]
}

// target is the name of the session that an effect is about.
func target(e Effect) (string, bool) {
	switch e := e.(type) {
	case Monitor:
		return e.Session.Name, true
	case Capture:
		return e.Session.Name, true
	case Send:
		return e.Session.Name, true
	case Stop:
		return e.Session.Name, true
	}
	return "", false
}

// aimless is the error of an effect on a session that names none: its Handle was
// forgotten, and to stop that would pass as done.
func aimless(e Effect) error {
	if name, on := target(e); on && name == "" {
		return fmt.Errorf("effect %T names no session", e)
	}
	return nil
}

// Steps is a Handler as a Step: the handler does things, and the store keeps
// account of them.
func Steps(h Handler) Step {
	return func(ctx context.Context, e Effect, _ Env, store Store) (any, Store, error) {
		v, err := h.Handle(ctx, e)
		if err != nil {
			return v, store, err
		}
		return v, account(store, e, v), nil
	}
}

// account is the store after an effect that gave v. The one before stays as it
// is.
func account(store Store, e Effect, v any) Store {
	if e, ok := e.(Sleep); ok {
		store.Slept += e.For
		return store
	}
	store.Sessions = maps.Clone(store.Sessions)
	if store.Sessions == nil {
		store.Sessions = map[string]SessionState{}
	}
	if e, ok := e.(Launch); ok {
		h, _ := v.(agentform.Handle) // who gives something else is told so by Do
		store.Sessions[h.Name] = SessionState{Handle: h, Spec: e.Spec, Status: session.StatusBooting}
		return store
	}
	name, _ := target(e)
	s, there := store.Sessions[name]
	if !there {
		return store
	}
	switch e := e.(type) {
	case Monitor:
		o, _ := v.(agentform.Observation)
		s.Looks++
		s.Status, s.Output = o.Status, o.Snippet
	case Capture:
		s.Output, _ = v.(string)
	case Send:
		s.Sent = append(s.Sent[:len(s.Sent):len(s.Sent)], e.Input)
	case Stop:
		s.Stopped, s.Status = true, session.StatusStopped
	}
	store.Sessions[name] = s
	return store
}

// Run interprets a program with a Step, from a store on, and returns what the
// program gives with the store that it leaves.
func Run[R any](ctx context.Context, p Program[R], step Step, env Env, store Store) (R, Store, error) {
	r, err := p(ctx, HandlerFunc(func(ctx context.Context, e Effect) (any, error) {
		v, next, err := step(ctx, e, env, store)
		store = next
		return v, err
	}))
	return r, store, err
}
