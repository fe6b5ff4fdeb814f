package session

import (
	"context"
	"sync"
	"time"
)

// looks are shared by those who wait for one: a look at the runtime shows all of
// its sessions, so a hundred that are watched need not cost a hundred looks each
// time.
type looks struct {
	once  sync.Once
	turn  chan struct{} // one looks at a time; a channel, so that waiting can be canceled
	began time.Time     // of the last look that came to an end
	lives []Live        // what it saw; not to be changed
	err   error
}

// look is what the runtime holds, with screens: seen after the call began, or at
// most so long before.
func (l *Launcher) look(ctx context.Context, age time.Duration) ([]Live, error) {
	k := &l.looks
	k.once.Do(func() { k.turn = make(chan struct{}, 1) })
	asked := time.Now()
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-k.turn }()
	if k.began.After(asked) || k.err == nil && age > 0 && asked.Sub(k.began) <= age {
		return k.lives, k.err
	}
	began := time.Now()
	lives, err := l.Runtime.Observe(ctx, true)
	if ctx.Err() == nil { // else it says nothing to those who still wait
		k.began, k.lives, k.err = began, lives, err
	}
	return lives, err
}
