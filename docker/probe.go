package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// Probe has the run's guest run a command beside the agent, in its container, for at
// most that long. Failed is why it failed; empty: it left with 0. The error is
// session.ErrUnprobeable where no guest answers, or not now.
func (r *Runtime) Probe(ctx context.Context, p session.Place, run string, argv []string, timeout time.Duration) (failed string, err error) {
	var done shim.Probed
	err = r.probing(ctx, p, run, func(c *shim.Client, ctx context.Context) (err error) {
		done, err = c.Probe(ctx, shim.Probe{Argv: argv, Timeout: timeout})
		return err
	})
	if err != nil {
		return "", err
	}
	how := ""
	switch {
	case done.TimedOut:
		how = fmt.Sprintf("it took longer than %s", timeout)
	case done.Signal != "":
		how = "ended by " + done.Signal
	case done.Code != 0:
		how = fmt.Sprintf("exit status %d", done.Code)
	default:
		return "", nil
	}
	if said := strings.TrimSpace(done.Output); said != "" {
		how += ": " + said[strings.LastIndexByte(said, '\n')+1:]
	}
	return how, nil
}

// Unread is how many bytes of what was typed into the session its agent has not
// read. The error is session.ErrUnprobeable where no guest tells.
func (r *Runtime) Unread(ctx context.Context, p session.Place, run string) (n int, err error) {
	err = r.probing(ctx, p, run, func(c *shim.Client, ctx context.Context) (err error) {
		n, err = c.Unread(ctx)
		return err
	})
	return n, err
}

// probing asks the guest of a run, and tells apart that nobody can be asked from all
// else.
func (r *Runtime) probing(ctx context.Context, p session.Place, run string, what func(*shim.Client, context.Context) error) error {
	in, err := r.running(ctx, p)
	if err == nil {
		err = r.askGuest(ctx, in.id, run, what)
	}
	var refusal *shim.Error
	if errors.As(err, &refusal) || errors.Is(err, session.ErrGone) || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %w", session.ErrUnprobeable, err)
	}
	return err
}
