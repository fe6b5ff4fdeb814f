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

// batcher runs items in batches: items that are added while a batch runs are in the next
// one.
type batcher[T any] struct {
	most int // items in a batch; 0: no limit

	mu   sync.Mutex
	busy bool
	next []T
}

func (b *batcher[T]) add(item T, run func([]T)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = append(b.next, item)
	if !b.busy {
		b.busy = true
		go b.work(run)
	}
}

func (b *batcher[T]) work(run func([]T)) {
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

// boundedSet is a set of runs. It starts over when it is full: what is known of a run
// only saves work. The zero value is empty and may be used from many goroutines.
type boundedSet struct {
	mu   sync.Mutex
	runs map[string]bool
}

// setLimit bounds a boundedSet: a hub restarts agents for months.
const setLimit = 10_000

func (s *boundedSet) has(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[run]
}

// add adds a run and reports whether it was missing.
func (s *boundedSet) add(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[run] {
		return false
	}
	if s.runs == nil || len(s.runs) >= setLimit {
		s.runs = map[string]bool{}
	}
	s.runs[run] = true
	return true
}
