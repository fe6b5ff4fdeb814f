package tmux

import (
	"context"
	"sync"
	"time"
)

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// poll calls f until it reports that it is done or fails, at intervals that grow to most.
func poll(ctx context.Context, most time.Duration, f func() (done bool, err error)) error {
	for wait := time.Millisecond; ; wait = min(2*wait, most) {
		if done, err := f(); done || err != nil {
			return err
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// batcher runs requests in batches: those that are added while a batch runs are in the next.
type batcher struct {
	most int // requests in a batch; 0: no limit

	mu   sync.Mutex
	busy bool
	next []*request
}

func (b *batcher) add(item *request, run func([]*request)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = append(b.next, item)
	if !b.busy {
		b.busy = true
		go b.work(run)
	}
}

func (b *batcher) work(run func([]*request)) {
	for {
		b.mu.Lock()
		n := len(b.next)
		if b.most > 0 {
			n = min(n, b.most)
		}
		batch := b.next[:n:n]
		b.next = b.next[n:]
		if n == 0 {
			b.busy, b.next = false, nil
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		run(batch)
	}
}
