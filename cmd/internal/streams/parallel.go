package streams

import (
	"context"
	"sync"
)

// Each calls do with 0 to n-1, at most limit at once. The first Ctrl-C begins nothing more, the second
// cancels. Each returns how many were begun.
func (s *Streams) Each(ctx context.Context, n, limit int, do func(ctx context.Context, i int)) (begun int) {
	if n == 1 {
		do(ctx, 0)
		return 1
	}
	ctx, drain, done := s.Interruptible(ctx)
	defer done()
	return InParallel(n, limit, drain, func(i int) { do(ctx, i) })
}

// InParallel calls do with 0 to n-1, at most limit at once, and begins nothing more when drain is
// closed. It returns how many were begun.
func InParallel(n, limit int, drain <-chan struct{}, do func(i int)) (begun int) {
	var work sync.WaitGroup
	defer work.Wait()
	slots := make(chan struct{}, max(1, limit))
	for i := range n {
		select {
		case <-drain:
			return i
		case slots <- struct{}{}:
		}
		select {
		case <-drain: // as well
			return i
		default:
		}
		work.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	return n
}
