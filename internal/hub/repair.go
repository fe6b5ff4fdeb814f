package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/state"
)

// repairs runs one repair at a time, while the hub goes on observing.
type repairs struct {
	engine *engine.Engine
	log    *slog.Logger
	work   *sync.WaitGroup
	done   chan repaired

	running  bool
	notUntil time.Time // after a repair that could not start
}

type repaired struct {
	tally apply.Tally
	err   error
}

// start starts a repair. When ctx ends, it finishes what is in progress.
func (r *repairs) start(ctx context.Context, in engine.HubInput) {
	r.running = true
	r.work.Go(func() {
		_, tally, err := r.engine.Repair(context.WithoutCancel(ctx), in, ctx.Done())
		r.done <- repaired{tally, err}
	})
}

// finish logs a repair. Failures of single sessions are in their histories.
func (r *repairs) finish(x repaired) {
	r.running = false
	for _, res := range x.tally.Results {
		r.log.Info("repaired", "session", res.Address, "action", res.Action, "outcome", res.Outcome, "took", res.Elapsed, "error", errText(res.Err))
	}
	for _, w := range x.tally.Warnings {
		r.log.Warn(w.Summary, "session", w.Address, "detail", w.Detail)
	}
	locked, is := errors.AsType[*state.LockedError](x.err)
	switch {
	case is:
		r.log.Debug("another process has the state's lock: only observing", "who", locked.Holder.Command, "pid", locked.Holder.PID)
		r.notUntil = time.Now().Add(lockRetry)
	case x.err != nil && len(x.tally.Results) == 0:
		r.log.Error("repair failed", "error", x.err)
		r.notUntil = time.Now().Add(defaultInterval)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// secrets asks for the secrets of starts, for a look and a repair at the same time.
type secrets struct {
	ask       func(name string) error
	inherited func(run string) []string // nil: runs inherited none

	mu      sync.Mutex // held while a secret is asked for
	answers map[string]answer
}

type answer struct {
	err error
	at  time.Time
}

// How long an answer holds: each question may prompt a person.
const (
	refusedFor = 50 * time.Second
	grantedFor = 5 * time.Second
)

// missing returns why a secret that a start needs is unavailable, or "".
func (s *secrets) missing(c plan.Change, at time.Time) string {
	names := c.After.Secrets
	switch {
	case c.Before != nil && c.Before.Unmade():
		names = slices.Concat(names, c.Before.Inherits)
	case c.Before != nil && s.inherited != nil:
		names = slices.Concat(names, s.inherited(c.Before.Run.ID))
	}
	for _, name := range names {
		if err := s.get(name, at); err != nil {
			return fmt.Sprintf("secret %s is not available: %s", name, err)
		}
	}
	return ""
}

func (s *secrets) get(name string, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, asked := s.answers[name]
	if asked && (was.err != nil && at.Sub(was.at) < refusedFor || was.err == nil && at.Sub(was.at) < grantedFor) {
		return was.err
	}
	err := s.ask(name)
	s.answers[name] = answer{err, at}
	return err
}
