package tmux

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

// Probe has the run's guest run a command beside the agent for at most that long.
// Failed is why it failed; empty: it left with 0. The error is
// session.ErrUnprobeable where no guest answers, or not now.
func (r *Runtime) Probe(ctx context.Context, _ session.Place, run string, argv []string, timeout time.Duration) (failed string, err error) {
	var p shim.Probed
	err = r.askGuest(ctx, run, func(c *shim.Client, ctx context.Context) (err error) {
		p, err = c.Probe(ctx, shim.Probe{Argv: argv, Timeout: timeout})
		return err
	})
	if err != nil {
		return "", unprobeable(err)
	}
	how := ""
	switch {
	case p.TimedOut:
		how = fmt.Sprintf("it took longer than %s", timeout)
	case p.Signal != "":
		how = "ended by " + p.Signal
	case p.Code != 0:
		how = fmt.Sprintf("exit status %d", p.Code)
	default:
		return "", nil
	}
	if said := strings.TrimSpace(p.Output); said != "" {
		how += ": " + said[strings.LastIndexByte(said, '\n')+1:]
	}
	return how, nil
}

// Unread is how many bytes of what was typed into the session its agent has not
// read. The error is session.ErrUnprobeable where no guest tells.
func (r *Runtime) Unread(ctx context.Context, _ session.Place, run string) (n int, err error) {
	err = r.askGuest(ctx, run, func(c *shim.Client, ctx context.Context) (err error) {
		n, err = c.Unread(ctx)
		return err
	})
	if err != nil {
		return 0, unprobeable(err)
	}
	return n, nil
}

// unprobeable tells apart that nobody can be asked from all else.
func unprobeable(err error) error {
	var refusal *shim.Error
	if errors.As(err, &refusal) || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %w", session.ErrUnprobeable, err)
	}
	return err
}
