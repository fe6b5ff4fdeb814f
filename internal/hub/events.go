package hub

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/session"
)

// subscriptions wakes the hub when a runtime reports an event.
type subscriptions struct {
	engine     *engine.Engine
	log        *slog.Logger
	work       *sync.WaitGroup
	wake       func()
	subscribed map[string]bool // runtimes by key, also those that report nothing
}

// retryInterval is how long to wait before a runtime that stopped reporting is
// subscribed to again: a daemon restarts within seconds.
const retryInterval = 5 * time.Second

// update subscribes, once, to each runtime that holds sessions and reports events.
func (x *subscriptions) update(ctx context.Context, s *Snapshot) {
	for _, k := range s.Sessions {
		spec := k.Record.Spec.Runtime
		if x.subscribed[spec.Key()] {
			continue
		}
		rt, err := x.engine.Opened(s.Lineage, spec)
		if err != nil {
			continue // the look reported it, and the next one tries again
		}
		x.subscribed[spec.Key()] = true
		if n, can := rt.(session.EventSource); can {
			x.work.Go(func() { x.follow(ctx, n, spec) })
		}
	}
}

// follow wakes the hub for each event, and when it subscribes again after an error:
// what happened meanwhile was not reported.
func (x *subscriptions) follow(ctx context.Context, n session.EventSource, spec session.RuntimeSpec) {
	for {
		err := n.Events(ctx, x.wake)
		if ctx.Err() != nil {
			return
		}
		x.log.Warn("a runtime reports no events: changes are seen by the sweep", "runtime", spec.Key(), "error", err)
		if !sleep(ctx, retryInterval) {
			return
		}
		x.wake()
	}
}
