package effect

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
)

// Real carries effects out with a agentform.Launcher.
type Real struct {
	launcher *agentform.Launcher
	sleep    func(context.Context, time.Duration) error

	mu       sync.Mutex
	sessions map[string]*agentform.Session // by run
}

// New is a handler that does things with the launcher's runtime, and sleeps.
func New(l *agentform.Launcher) *Real {
	return &Real{launcher: l, sleep: wait, sessions: map[string]*agentform.Session{}}
}

// SleepBy makes the handler sleep in another way, and returns it: a scripted
// runtime's Sleep lets time pass without a wait.
func (r *Real) SleepBy(sleep func(context.Context, time.Duration) error) *Real {
	r.sleep = sleep
	return r
}

// Handle carries one effect out. A session that this handler did not launch, or
// has stopped, is gone for it (session.ErrGone); to stop it is no error. An effect
// that names none is one.
func (r *Real) Handle(ctx context.Context, e Effect) (any, error) {
	if err := aimless(e); err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case Launch:
		s, err := r.launcher.Launch(ctx, e.Name, e.Spec)
		if err != nil {
			return agentform.Handle{}, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sessions[s.Handle().Run] = s
		return s.Handle(), nil
	case Monitor:
		s, err := r.of(e.Session)
		if err != nil {
			return agentform.Observation{}, err
		}
		return s.Observe(ctx)
	case Capture:
		s, err := r.of(e.Session)
		if err != nil {
			return "", err
		}
		return s.Capture(ctx, e.Lines)
	case Send:
		s, err := r.of(e.Session)
		if err != nil {
			return None{}, err
		}
		return None{}, s.SendInput(ctx, e.Input)
	case Stop:
		s, err := r.of(e.Session)
		if err != nil {
			return None{}, nil
		}
		if err := s.Stop(ctx); err != nil {
			return None{}, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.sessions, e.Session.Run)
		return None{}, nil
	case Sleep:
		return None{}, r.sleep(ctx, e.For)
	}
	return nil, fmt.Errorf("effect %T is not known", e)
}

func (r *Real) of(h agentform.Handle) (*agentform.Session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sessions[h.Run]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("session %q %w, or was launched by another handler", h.Name, session.ErrGone)
}

// wait sleeps until the time is over or the context ends.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
