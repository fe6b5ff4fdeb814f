package follow

import (
	"context"
	"iter"
	"time"
)

// idleShare is how many times as long as a look took is waited at least before
// the next one: looking takes no more than a fifth of the time, however many
// sessions there are.
const idleShare = 4

// glimpse is how often it is asked whether there is something to look at: a stat
// for each session takes a microsecond.
const glimpse = 50 * time.Millisecond

// Looks looks again and again and returns what each look saw, until ctx ends,
// which it does not tell, or the caller stops. Between two looks it waits for as
// long as every says, and longer where a look takes long; but when told returns
// another number than before the look, it looks at once. Told is asked often, so
// it must be cheap; nil: nothing tells. An error of a look is the last thing that
// it returns.
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
			pause, step := max(every, idleShare*time.Since(began)), glimpse
			if told == nil {
				step = pause
			}
			if !rest(ctx, pause, step, func() bool { return told != nil && told() != heard }) {
				return
			}
		}
	}
}

// rest waits for so long, or until there is something to look at, asking at every
// step. False: ctx has ended.
func rest(ctx context.Context, long, step time.Duration, told func() bool) bool {
	until := time.Now().Add(long)
	for left := long; left > 0; left = time.Until(until) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(min(left, step)):
		}
		if told() {
			return true
		}
	}
	return true
}
