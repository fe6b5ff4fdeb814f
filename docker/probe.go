package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// Probe runs a command next to the agent, in its container, for at most the timeout, and
// returns why the command failed, or nothing. The error is session.ErrUnprobeable if no
// shim answers.
func (r *Runtime) Probe(ctx context.Context, p session.Location, run string, argv []string, timeout time.Duration) (failed string, err error) {
	err = r.probe(ctx, p, run, func(c *shim.Client, ctx context.Context) error {
		done, err := c.Probe(ctx, shim.Probe{Argv: argv, Timeout: timeout})
		failed = done.Failure(timeout)
		return err
	})
	return failed, err
}

// Unread returns how many bytes of its input the agent has not read. The error is
// session.ErrUnprobeable if no shim answers.
func (r *Runtime) Unread(ctx context.Context, p session.Location, run string) (n int, err error) {
	err = r.probe(ctx, p, run, func(c *shim.Client, ctx context.Context) (err error) {
		n, err = c.Unread(ctx)
		return err
	})
	return n, err
}

func (r *Runtime) probe(ctx context.Context, p session.Location, run string, do func(*shim.Client, context.Context) error) error {
	t, err := r.running(ctx, p)
	if err == nil {
		err = t.askShim(ctx, run, do)
	}
	var refusal *shim.Error
	if errors.As(err, &refusal) || errors.Is(err, session.ErrGone) || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %w", session.ErrUnprobeable, err)
	}
	return err
}
