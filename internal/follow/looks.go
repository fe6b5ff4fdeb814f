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

// Looks looks again and again and returns what each look saw, until ctx ends,
// which it does not tell, or the caller stops. Between two looks it waits for as
// long as every says, and longer where a look takes long. An error of a look is
// the last thing that it returns.
func Looks[T any](ctx context.Context, every time.Duration, look func(context.Context) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			began := time.Now()
			seen, err := look(ctx)
			if ctx.Err() != nil || !yield(seen, err) || err != nil {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(max(every, idleShare*time.Since(began))):
			}
		}
	}
}
