package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interruptible lets Ctrl-C end a command in two steps. The first closes drain:
// nothing new is begun, what is under way finishes. The second ends the
// returned context: stop now. SIGTERM and SIGHUP count like Ctrl-C. done gives
// the signals back.
func interruptible(ctx context.Context, a *app) (_ context.Context, drain <-chan struct{}, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	draining := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			if n > 0 {
				fmt.Fprintln(a.env.Stderr, "\nStopping now; what is known is saved.")
				cancel()
				return
			}
			fmt.Fprintln(a.env.Stderr, "\nInterrupted: finishing what is under way. Once more to stop now.")
			close(draining)
		}
	})
	return ctx, draining, func() {
		signal.Stop(signals)
		cancel()
		wg.Wait()
	}
}

// untilInterrupted is a context that ends with Ctrl-C, for a command that only
// looks.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}
