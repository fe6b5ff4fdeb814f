package follow

import (
	"context"
	"iter"
	"time"

	"github.com/agentform/agentform/internal/sleep"
)

const (
	// idleShare is how many times as long as a look took Looks waits at least before the
	// next, so that looking takes no more than a fifth of the time.
	idleShare = 4
	// pollInterval is how often told is called: a stat for each session takes a
	// microsecond.
	pollInterval = 50 * time.Millisecond
)

// Looks calls look repeatedly and yields its results, until ctx ends or a look fails.
// Between two looks it waits for every, or longer if a look takes long, and looks at
// once when told returns another number than before the look. told may be nil.
func Looks[T any](ctx context.Context, every time.Duration, told func() int64, look func(context.Context) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			began, heard := time.Now(), int64(0)
			if told != nil {
				heard = told()
			}
			seen, err := look(ctx)
			if ctx.Err() != nil || !yield(seen, err) || err != nil {
				return
			}
			until := time.Now().Add(max(every, idleShare*time.Since(began)))
			for left := time.Until(until); left > 0; left = time.Until(until) {
				if told != nil {
					left = min(left, pollInterval)
				}
				if !sleep.For(ctx, left) {
					return
				}
				if told != nil && told() != heard {
					break
				}
			}
		}
	}
}
