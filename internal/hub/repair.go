package hub

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/engine"
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

// repaired is the outcome of a repair.
type repaired struct {
	tally apply.Tally
	err   error
}

// start starts a repair. When ctx ends, it starts nothing new and finishes what is in
// progress.
func (r *repairs) start(ctx context.Context, in engine.HubInput) {
	r.running = true
	r.work.Go(func() {
		_, tally, err := r.engine.Repair(context.WithoutCancel(ctx), in, ctx.Done())
		r.done <- repaired{tally, err}
	})
}

// finish logs the outcome of a repair. Failures of single sessions are in their
// histories.
func (r *repairs) finish(x repaired) {
	r.running = false
	for _, res := range x.tally.Results {
		r.log.Info("repaired", "session", res.Address, "action", res.Action, "outcome", res.Outcome, "took", res.Elapsed, "error", errText(res.Err))
	}
	for _, w := range x.tally.Warnings {
		r.log.Warn(w.Summary, "session", w.Address, "detail", w.Detail)
	}
	var locked *state.LockedError
	switch {
	case errors.As(x.err, &locked):
		r.log.Debug("another process has the state's lock: only observing", "who", locked.Holder.Command, "pid", locked.Holder.PID)
		r.notUntil = time.Now().Add(lockRetry)
	case x.err != nil && len(x.tally.Results) == 0:
		r.log.Error("nothing could be repaired", "error", x.err)
		r.notUntil = time.Now().Add(defaultInterval)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
