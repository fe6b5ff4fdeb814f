package effect

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
)

// Real carries out effects with an agentform.Launcher.
type Real struct {
	launcher *agentform.Launcher
	sleep    func(context.Context, time.Duration) error

	mu       sync.Mutex
	sessions map[string]*agentform.Session // by run
}

// New returns a handler that uses the launcher and really sleeps.
func New(l *agentform.Launcher) *Real {
	return &Real{launcher: l, sleep: wait, sessions: map[string]*agentform.Session{}}
}

// SleepBy replaces the handler's sleep, for example by that of a scripted runtime.
func (r *Real) SleepBy(sleep func(context.Context, time.Duration) error) *Real {
	r.sleep = sleep
	return r
}

// Handle carries out one effect. A session that this handler did not launch, or that it
// has stopped, is session.ErrGone; to stop it is not an error.
func (r *Real) Handle(ctx context.Context, e Effect) (any, error) {
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
	case Sleep:
		return None{}, r.sleep(ctx, e.For)
	}
	h, err := target(e)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	s := r.sessions[h.Run]
	r.mu.Unlock()
	if _, stops := e.(Stop); s == nil && stops {
		return None{}, nil
	} else if s == nil {
		return nil, fmt.Errorf("session %q %w, or was launched by another handler", h.Name, session.ErrGone)
	}
	switch e := e.(type) {
	case Monitor:
		return s.Observe(ctx)
	case Capture:
		return s.Capture(ctx, e.Lines)
	case Send:
		return None{}, s.SendInput(ctx, e.Input)
	case Answer:
		return None{}, s.Answer(ctx, e.Question, e.Text)
	}
	if err := s.Stop(ctx); err != nil {
		return None{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, h.Run)
	return None{}, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
