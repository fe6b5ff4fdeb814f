package backend

import (
	"context"
	"errors"
	"time"

	"github.com/agentform/agentform/internal/sleep"
)

// leadRetry is the pause between two attempts to take the lock of the one that leads.
const leadRetry = time.Second

// Lead waits until ctx ends or the lock of b is taken, so that one of several processes acts.
// It calls follow when the holder has changed, and failed when the backend was not reached;
// then it tries again.
func Lead(ctx context.Context, b Backend, i Info, follow func(holder Info), failed func(error)) (*Hold, error) {
	holder := ""
	for {
		h, err := Acquire(ctx, b, i, 0, nil)
		if err == nil {
			return h, nil
		}
		if held, is := errors.AsType[*HeldError](err); is {
			if held.Holder.ID != holder {
				holder = held.Holder.ID
				follow(held.Holder)
			}
		} else if ctx.Err() == nil {
			failed(err)
		}
		if !sleep.For(ctx, leadRetry) {
			return nil, context.Cause(ctx)
		}
	}
}
