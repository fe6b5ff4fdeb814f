package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// RecordVerified records, under the lock, the outcome of a verification of the session with that
// id. The error is verify.ErrOutdated if the last outcome is not rec.Verified any more; the others
// are those of RecordLanding.
func RecordVerified(ctx context.Context, e *Engine, rec session.Record, v session.Verified) error {
	return amend(ctx, e, rec, func(now *session.Record) error {
		if !now.Verified.Same(rec.Verified) {
			return verify.ErrOutdated
		}
		now.Verified = &v
		return nil
	}, "was verified")
}

// RecordPR records, under the lock, what is known of the pull request of the session with that id,
// and that its work has landed if that is not nil. The error is verify.ErrOutdated if what is recorded
// is not rec.PR any more; the others are those of RecordLanding.
func RecordPR(ctx context.Context, e *Engine, rec session.Record, p session.PullRequest, landed *session.Landed) error {
	return amend(ctx, e, rec, func(now *session.Record) error {
		if !now.PR.Same(rec.PR) {
			return verify.ErrOutdated
		}
		now.PR = &p
		if landed != nil {
			now.Landed = landed
		}
		return nil
	}, "has a pull request")
}

// RecordLanding records, under the lock, how the work of a session with that id came to its base. The
// error is a *state.LockedError if another process has the lock for longer than LockWait, or an
// *UnknownError if the session left the state meanwhile.
func RecordLanding(ctx context.Context, e *Engine, rec session.Record, l session.Landed) error {
	return amend(ctx, e, rec, func(now *session.Record) error {
		now.Landed = &l
		return nil
	}, "has landed")
}

// RecordContinued records, under the lock, when the agent of a session is sent "continue"; zero:
// it was not. The error is verify.ErrOutdated if rec is not what is recorded any more; the others are
// those of RecordLanding.
func RecordContinued(ctx context.Context, e *Engine, rec session.Record, at time.Time) error {
	return amend(ctx, e, rec, func(now *session.Record) error {
		if now.Run.ID != rec.Run.ID || !now.Run.ContinuedAt.Equal(rec.Run.ContinuedAt) || now.Intent != session.Settled {
			return verify.ErrOutdated
		}
		now.Run.ContinuedAt = at
		return nil
	}, "continues")
}

// amend changes the record of a session under the lock. what it says is for an error.
func amend(ctx context.Context, e *Engine, rec session.Record, change func(*session.Record) error, what string) error {
	_, err := e.locked(ctx, nil, func(store *state.Store, _ apply.Applier) (apply.Tally, error) {
		all := store.State().Sessions
		i := slices.IndexFunc(all, func(r session.Record) bool { return r.ID == rec.ID })
		if i < 0 {
			return apply.Tally{}, &UnknownError{rec.Address}
		}
		now := all[i]
		err := change(&now)
		if err == nil {
			err = store.Put(now)
		}
		if err != nil {
			return apply.Tally{}, fmt.Errorf("record that %s %s: %w", rec.Address, what, err)
		}
		return apply.Tally{}, nil
	})
	return err
}
