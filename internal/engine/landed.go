package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// RecordLanding records, under the lock, how the work of a session with that id came to its base. The
// error is a *state.LockedError if another process has the lock for longer than LockWait, or an
// *UnknownError if the session left the state meanwhile.
func RecordLanding(ctx context.Context, e *Engine, rec session.Record, l session.Landed) error {
	_, err := e.locked(ctx, nil, func(store *state.Store, _ apply.Applier) (apply.Tally, error) {
		all := store.State().Sessions
		i := slices.IndexFunc(all, func(r session.Record) bool { return r.ID == rec.ID })
		if i < 0 {
			return apply.Tally{}, &UnknownError{rec.Address}
		}
		now := all[i]
		now.Landed = &l
		if err := store.Put(now); err != nil {
			return apply.Tally{}, fmt.Errorf("record that %s has landed: %w", rec.Address, err)
		}
		return apply.Tally{}, nil
	})
	return err
}
