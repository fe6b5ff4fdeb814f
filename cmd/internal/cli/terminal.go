package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// interruptible closes drain on the first Ctrl-C, and cancels the context on the second.
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
				fmt.Fprintln(a.env.Stderr, "\nStopping now; the state is saved.")
				cancel()
				return
			}
			fmt.Fprintln(a.env.Stderr, "\nInterrupted: finishing what is under way. Press Ctrl-C again to stop immediately.")
			close(draining)
		}
	})
	return ctx, draining, func() {
		signal.Stop(signals)
		cancel()
		wg.Wait()
	}
}

func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// pollInterval is not shorter because wait and next count a change that lasts for two checks.
const pollInterval = 250 * time.Millisecond

func poll(ctx context.Context, f func() error) error {
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return outcome(exitInterrupted)
		case <-tick.C:
		}
		if err := f(); err != nil {
			return err
		}
	}
}

// confirm names in its error the command line that needs no answer.
func confirm(a *app, question, instead string) error {
	if !terminal(a.env.Stdin) {
		return fmt.Errorf("cannot ask for approval: standard input is not a terminal\nuse: %s", instead)
	}
	fmt.Fprintf(a.env.Stderr, "\n%s\n  Only 'yes' will be accepted: ", question)
	answer, err := answer(a)
	if err != nil {
		return err
	}
	if answer != "yes" {
		return errors.New("not approved: no changes made")
	}
	return nil
}

// answer returns "" at the end of the input.
func answer(a *app) (string, error) {
	text, err := readLine(a)
	if errors.Is(err, io.EOF) {
		return text, nil
	}
	return text, err
}

// readLine returns a line of the input without white space around it. With io.EOF it is
// one that no line break ends.
func readLine(a *app) (string, error) {
	ctx, stop := untilInterrupted(context.Background())
	defer stop()
	var text string
	typed := make(chan error, 1) // so that the reader, which nothing can call off, can end
	go func() {
		var err error
		text, err = bufio.NewReader(a.env.Stdin).ReadString('\n')
		typed <- err
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.env.Stderr)
		return "", outcome(exitInterrupted)
	case err := <-typed:
		if err != nil {
			fmt.Fprintln(a.env.Stderr) // nobody has ended the question's line
		}
		if err != nil {
			return strings.TrimSpace(text), fmt.Errorf("read the answer: %w", err)
		}
	}
	return strings.TrimSpace(text), nil
}

// readerGone lets a command that follows something end before its next write.
func readerGone(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&unix.POLLERR != 0
}
