package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// RecordVerified records, under the lock, the outcome of a verification of the session with that
// id. The errors are those of RecordLanding.
func RecordVerified(ctx context.Context, e *Engine, rec session.Record, v session.Verified) error {
	return amend(ctx, e, rec, func(now *session.Record) { now.Verified = &v }, "was verified")
}

// RecordLanding records, under the lock, how the work of a session with that id came to its base. The
// error is a *state.LockedError if another process has the lock for longer than LockWait, or an
// *UnknownError if the session left the state meanwhile.
func RecordLanding(ctx context.Context, e *Engine, rec session.Record, l session.Landed) error {
	return amend(ctx, e, rec, func(now *session.Record) { now.Landed = &l }, "has landed")
}

// amend changes the record of a session under the lock. what it says is for an error.
func amend(ctx context.Context, e *Engine, rec session.Record, change func(*session.Record), what string) error {
	_, err := e.locked(ctx, nil, func(store *state.Store, _ apply.Applier) (apply.Tally, error) {
		all := store.State().Sessions
		i := slices.IndexFunc(all, func(r session.Record) bool { return r.ID == rec.ID })
		if i < 0 {
			return apply.Tally{}, &UnknownError{rec.Address}
		}
		now := all[i]
		change(&now)
		if err := store.Put(now); err != nil {
			return apply.Tally{}, fmt.Errorf("record that %s %s: %w", rec.Address, what, err)
		}
		return apply.Tally{}, nil
	})
	return err
}
