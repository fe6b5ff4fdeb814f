package effect

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
)

// Step is a Handler for interpreters that thread a store: the result of an effect and the
// next store depend on the environment and the store. A store that is passed in is not
// changed, so a program can be resumed from any step.
type Step func(ctx context.Context, e Effect, env Env, store Store) (value any, next Store, err error)

// Env is what stays the same for a whole program.
type Env struct {
	// Scripts has the observations of each session by name. The last one repeats.
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
	Asks    *session.Question // when it was last monitored
	Output  string            // what it shows
	Sent    []session.Input   // all that was typed, and answers as texts, oldest first
	Looks   int               // how often it was monitored
	Stopped bool
}

// Simulate is a Step that touches nothing: sessions do what Env.Scripts says, and time
// passes only by Sleep.
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
	default:
		h, err := target(e)
		if err != nil {
			return nil, store, err
		}
		name := h.Name
		s, there := store.Sessions[name]
		_, stops := e.(Stop)
		switch gone := !there || s.Stopped; {
		case gone && stops:
			return v, store, nil
		case gone:
			return nil, store, fmt.Errorf("session %q %w", name, session.ErrGone)
		}
		switch e := e.(type) {
		case Send:
			if s.Status == session.StatusBlocked && e.Input.Key == "" && !e.Input.NoEnter {
				return nil, store, fmt.Errorf("send to session %q: %w", name, &agentform.DialogError{Question: s.Output, Screen: s.Output})
			}
		case Answer:
			switch {
			case s.Asks == nil:
				return nil, store, fmt.Errorf("answer session %q: %w", name, &agentform.NoQuestionError{Activity: session.NoActivity, Screen: s.Output})
			case e.Question.ID != s.Asks.ID:
				return nil, store, fmt.Errorf("answer session %q: %w", name, &agentform.OtherQuestionError{Now: s.Asks, Screen: s.Output})
			}
		case Monitor:
			o := observation(env.Scripts[name], s.Looks)
			o.At = env.Start.Add(store.Slept)
			o.Changed = o.Snippet != s.Output
			v = o
		case Capture:
			v = s.Output
		}
	}
	return v, account(store, e, v), nil
}

func observation(script []agentform.Observation, n int) agentform.Observation {
	if len(script) == 0 {
		return agentform.Observation{Status: session.StatusRunning}
	}
	return script[min(n, len(script)-1)]
}

// target returns the session of an effect. No Handle is an error: stopping it would pass
// as done.
func target(e Effect) (h agentform.Handle, err error) {
	switch e := e.(type) {
	case Monitor:
		h = e.Session
	case Capture:
		h = e.Session
	case Send:
		h = e.Session
	case Answer:
		h = e.Session
	case Stop:
		h = e.Session
	default:
		return h, fmt.Errorf("effect %T is not known", e)
	}
	if h.Name == "" {
		err = fmt.Errorf("effect %T names no session", e)
	}
	return h, err
}

// Steps returns a Handler as a Step, with a store that records what the handler did.
func Steps(h Handler) Step {
	return func(ctx context.Context, e Effect, _ Env, store Store) (any, Store, error) {
		v, err := h.Handle(ctx, e)
		if err != nil {
			return v, store, err
		}
		return v, account(store, e, v), nil
	}
}

// account returns the store after an effect that gave v. The given one is not changed.
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
		h, _ := v.(agentform.Handle) // Do reports another type
		store.Sessions[h.Name] = SessionState{Handle: h, Spec: e.Spec, Status: session.StatusBooting}
		return store
	}
	h, _ := target(e) // an effect that was carried out has one
	s, there := store.Sessions[h.Name]
	if !there {
		return store
	}
	switch e := e.(type) {
	case Monitor:
		o, _ := v.(agentform.Observation)
		s.Looks++
		s.Status, s.Asks, s.Output = o.Status, o.Question, o.Snippet
	case Capture:
		s.Output, _ = v.(string)
	case Send:
		s.Sent = append(s.Sent[:len(s.Sent):len(s.Sent)], e.Input)
	case Answer:
		s.Sent, s.Asks = append(s.Sent[:len(s.Sent):len(s.Sent)], session.Input{Text: e.Text}), nil
	case Stop:
		s.Stopped, s.Status = true, session.StatusStopped
	}
	store.Sessions[h.Name] = s
	return store
}

// Run interprets a program with a Step, and returns its result and the last store.
func Run[R any](ctx context.Context, p Program[R], step Step, env Env, store Store) (R, Store, error) {
	r, err := p(ctx, HandlerFunc(func(ctx context.Context, e Effect) (any, error) {
		v, next, err := step(ctx, e, env, store)
		store = next
		return v, err
	}))
	return r, store, err
}
