package input

import (
	"context"
	"sync"
)

// Turns lets one goroutine at a time type into a session. The zero value is ready to use.
type Turns struct{ held sync.Map }

// Acquire waits until nobody types into a session and returns what ends the turn.
func (t *Turns) Acquire(ctx context.Context, session string) (release func(), err error) {
	v, _ := t.held.LoadOrStore(session, make(chan struct{}, 1))
	held := v.(chan struct{})
	select {
	case held <- struct{}{}:
		return func() { <-held }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
