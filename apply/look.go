package apply

import (
	"context"
	"sync"

	"github.com/agentform/agentform/session"
)

// looks shares looks at the runtimes among those who need one at a time: one
// look costs as much as there are sessions, so that a look for each session
// would cost the square of them.
type looks struct {
	mu    sync.Mutex
	turns map[string]*turn // by runtime
}

// turn is whose turn it is to look at a runtime.
type turn struct {
	free chan struct{} // holds one token while nobody looks
	next *look         // asked for and not yet begun
}

type look struct {
	done  chan struct{}
	lives []session.Live
	err   error
}

// at is what the runtime shows in a look that began after the call.
func (l *looks) at(ctx context.Context, key string, observe func(context.Context) ([]session.Live, error)) ([]session.Live, error) {
	t, n, first := l.join(key)
	if !first {
		<-n.done
		return n.lives, n.err
	}
	<-t.free
	l.mu.Lock()
	t.next = nil // whoever comes from now on needs a later look
	l.mu.Unlock()
	n.lives, n.err = observe(ctx)
	t.free <- struct{}{}
	close(n.done)
	return n.lives, n.err
}

func (l *looks) join(key string) (t *turn, n *look, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns == nil {
		l.turns = map[string]*turn{}
	}
	t = l.turns[key]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		l.turns[key] = t
	}
	if t.next == nil {
		t.next, first = &look{done: make(chan struct{})}, true
	}
	return t, t.next, first
}
