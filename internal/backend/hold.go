package backend

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/sleep"
)

// Hold is a lock that is renewed until it is released or lost.
type Hold struct {
	info    Info
	backend Backend
	lost    context.Context
	lose    context.CancelCauseFunc
	stop    context.CancelFunc
	done    chan struct{}

	mu sync.Mutex // one write at a time
}

// Acquire takes the lock of b and renews it. While it is held, Acquire retries until wait has
// passed or ctx ends, and calls waiting before each retry; then the error is a *HeldError. The lock
// of a process of this machine that has ended is released at once.
func Acquire(ctx context.Context, b Backend, i Info, wait time.Duration, waiting func(Info)) (*Hold, error) {
	until, released := time.Now().Add(wait), ""
	for pause := time.Second; ; pause = min(2*pause, 16*time.Second) {
		lease, err := b.Lock(ctx, i)
		if err == nil {
			return hold(b, i, lease), nil
		}
		left := time.Until(until)
		held, is := errors.AsType[*HeldError](err)
		if !is {
			// The answer may have been lost, and not every lock expires.
			after, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTime)
			defer cancel()
			_ = b.Unlock(after, i)
			return nil, err
		}
		if h := held.Holder; h.Process.ended(i.Process) && h.ID != released {
			if released = h.ID; b.Unlock(ctx, h) == nil {
				continue
			}
		}
		if left <= 0 {
			return nil, err
		}
		if waiting != nil {
			waiting(held.Holder)
		}
		if !sleep.For(ctx, min(pause, left)) {
			return nil, errors.Join(err, context.Cause(ctx))
		}
	}
}

// unlockTime bounds a release, and unlockPause is the time between two tries.
const (
	unlockTime  = 5 * time.Second
	unlockPause = 500 * time.Millisecond
)

func hold(b Backend, i Info, lease time.Duration) *Hold {
	h := &Hold{info: i, backend: b, done: make(chan struct{})}
	h.lost, h.lose = context.WithCancelCause(context.Background())
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	if lease == 0 {
		close(h.done)
		return h
	}
	go h.renew(ctx, lease)
	return h
}

// renew renews the lock three times in each lease. A lock that could not be renewed for a whole
// lease counts as lost, since another process may have it.
func (h *Hold) renew(ctx context.Context, lease time.Duration) {
	defer close(h.done)
	for renewed := time.Now(); ; {
		if !sleep.For(ctx, lease/3) {
			return
		}
		began := time.Now()
		try, cancel := context.WithDeadline(ctx, renewed.Add(lease))
		_, err := h.backend.Lock(try, h.info)
		cancel()
		var lost *LostError
		var held *HeldError
		switch {
		case err == nil:
			renewed = began
		case ctx.Err() != nil:
			return
		case errors.As(err, &held):
			h.lose(&LostError{held.Holder})
			return
		case errors.As(err, &lost):
			h.lose(err)
			return
		case time.Since(renewed) >= lease-lease/3:
			h.lose(&LostError{})
			return
		}
	}
}

// Info returns the description of the lock.
func (h *Hold) Info() Info { return h.info }

// Lost returns a context that ends when the lock is lost, with a *LostError as its cause.
func (h *Hold) Lost() context.Context { return h.lost }

// Write is Write of the backend under this lock. It refuses when the lock is lost.
func (h *Hold) Write(ctx context.Context, text []byte, seen Version) (Version, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := context.Cause(h.lost); err != nil {
		return "", err
	}
	v, err := h.backend.Write(ctx, text, seen, h.info.ID)
	if _, lost := errors.AsType[*LostError](err); lost {
		h.lose(err)
	}
	return v, err
}

// Release ends the renewal and unlocks, again and again for unlockTime if the backend does not
// answer. It does so also when the lock was lost, and then returns the *LostError.
func (h *Hold) Release(ctx context.Context) error {
	h.stop()
	<-h.done
	for until := time.Now().Add(unlockTime); ; {
		err := h.backend.Unlock(ctx, h.info)
		if _, lost := errors.AsType[*LostError](err); err == nil || lost || time.Now().After(until) {
			return err
		}
		if !sleep.For(ctx, unlockPause) {
			return err
		}
	}
}
