package launch

import (
	"context"
	"sync"
	"time"

	"github.com/agentform/agentform/session"
)

// Observer shares observations of one runtime: each shows all sessions and costs as
// much as there are, so that one for each session would cost the square of that.
type Observer struct {
	Observe func(context.Context) ([]session.Live, error)
	// Gather delays an observation so that it serves other callers, too; nil: it starts at once.
	Gather func(context.Context)

	once  sync.Once
	turn  chan struct{} // held by the caller that observes; waiting for it can be canceled
	began time.Time     // of the last observation that was completed
	lives []session.Live
	err   error
}

// Lives returns an observation that began after the call or at most age before it. The
// caller must not change the slice.
func (o *Observer) Lives(ctx context.Context, age time.Duration) ([]session.Live, error) {
	o.once.Do(func() { o.turn = make(chan struct{}, 1) })
	asked := time.Now()
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-o.turn }()
	if o.began.After(asked) || o.err == nil && age > 0 && asked.Sub(o.began) <= age {
		return o.lives, o.err
	}
	if o.Gather != nil {
		o.Gather(ctx)
	}
	began := time.Now()
	lives, err := o.Observe(ctx)
	if ctx.Err() == nil { // a canceled observation is useless to the other callers
		o.began, o.lives, o.err = began, lives, err
	}
	return lives, err
}
