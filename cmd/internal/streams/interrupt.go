package streams

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/cmd/internal/exit"
)

// Interruptible closes drain on the first Ctrl-C, and cancels the context on the second.
func (s *Streams) Interruptible(ctx context.Context) (_ context.Context, drain <-chan struct{}, done func()) {
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
				fmt.Fprintln(s.Err, "\nStopping now; the state is saved.")
				cancel()
				return
			}
			fmt.Fprintln(s.Err, "\nInterrupted: finishing what is under way. Press Ctrl-C again to stop immediately.")
			close(draining)
		}
	})
	return ctx, draining, func() {
		signal.Stop(signals)
		cancel()
		wg.Wait()
	}
}

// UntilInterrupted returns a context that is canceled by Ctrl-C and the signals that end a process.
func UntilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// PollInterval is the time between the looks of waiting commands. It is not shorter because wait
// and next require a change to last for two looks.
const PollInterval = 250 * time.Millisecond

// Poll calls f every PollInterval until it fails, or the command is interrupted.
func Poll(ctx context.Context, f func() error) error {
	ctx, stop := UntilInterrupted(ctx)
	defer stop()
	tick := time.NewTicker(PollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return exit.Interrupted
		case <-tick.C:
		}
		if err := f(); err != nil {
			return err
		}
	}
}

// Foreground runs a command that has the terminal, and returns its exit status as in a shell.
// Ctrl-C goes to the command: agentform waits until it has ended.
func Foreground(c *exec.Cmd) (code int, err error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	err = c.Start()
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return 127, reportStart(c, "command not found")
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return 126, reportStart(c, "cannot be run: "+err.Error())
	case err != nil:
		return 0, err
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case s := <-signals:
				// The terminal sends its signals to the command as well.
				if s == syscall.SIGTERM || s == syscall.SIGHUP {
					_ = c.Process.Signal(s) // it may have ended
				}
			}
		}
	}()
	err = c.Wait()
	close(ended)
	if errors.Is(err, exec.ErrWaitDelay) {
		return 0, nil
	}
	if failed, is := errors.AsType[*exec.ExitError](err); is {
		if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal()), nil
		}
		return failed.ExitCode(), nil
	}
	return 0, err
}

// reportStart prints why a command could not be started.
func reportStart(c *exec.Cmd, why string) error {
	_, err := fmt.Fprintf(c.Stderr, "%s: %s\n", c.Args[0], why)
	return err
}
