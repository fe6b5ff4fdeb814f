package hub

import (
	"context"
	"errors"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// newVerifications returns what verifies the work of the hub's sessions, besides its looks.
func newVerifications(h *Hub) *verify.Scheduler {
	return verify.NewScheduler(verify.Access{
		Reach: newReach(h),
		Record: func(ctx context.Context, r session.Record, v session.Verified) error {
			return whenFree(ctx, func() error { return engine.RecordVerified(ctx, h.engine, r, v) })
		},
	}, &h.work, h.Wake)
}

// newReach returns how what acts besides the hub's looks reaches its sessions.
func newReach(h *Hub) verify.Reach {
	return verify.Reach{
		Activity: h.cfg.Activity, Folder: h.engine.Applier.Folder, By: history.ByHub, Emit: h.changed, Now: h.engine.Observer.Now, Log: h.log,
		Open: func(spec session.RuntimeSpec) (session.Runtime, error) {
			return h.engine.Opened(h.Snapshot().Lineage, spec)
		},
	}
}

// whenFree records something as soon as no other process has the state's lock.
func whenFree(ctx context.Context, record func() error) error {
	for {
		err := record()
		if _, locked := errors.AsType[*state.LockedError](err); !locked {
			return err
		}
		if !sleep.For(ctx, lockRetry) {
			return context.Cause(ctx)
		}
	}
}
