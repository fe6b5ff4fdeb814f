package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Pause detaches clients and disables input. With session.Freeze it also freezes the
// agent and its children.
func (r *Runtime) Pause(ctx context.Context, p session.Location, run, mode string) (err error) {
	defer annotate(&err, "pause", p.Name)
	if mode != session.Detach && mode != session.Freeze {
		return fmt.Errorf("unknown mode %q", mode)
	}
	t, k, err := r.holding(ctx, p, run)
	if err != nil {
		return err
	}
	k.Paused = mode
	if t.container.State.Paused { // by someone else
		return t.save(k)
	}
	if mode == session.Freeze && !t.adopted {
		if err := t.askShim(ctx, run, (*shim.Client).Pause); err != nil {
			return err
		}
	}
	if _, err := t.tmux(ctx, "", tmuxwire.DisableInput(t.pane)); err != nil {
		return err
	}
	_, _ = t.tmux(ctx, "", tmuxwire.Command{"detach-client", "-s", t.pane}) // fails if nobody is attached
	if mode == session.Freeze && t.adopted {
		if err := t.engine.ContainerPause(ctx, t.container.ID); err != nil {
			return explain(err)
		}
	}
	return t.save(k)
}

// Resume undoes any pause, also of the container by someone else.
func (r *Runtime) Resume(ctx context.Context, p session.Location, run string) (err error) {
	defer annotate(&err, "resume", p.Name)
	t, k, err := r.holding(ctx, p, run)
	if err != nil {
		return err
	}
	if err := t.unpause(ctx); err != nil {
		return err
	}
	if !t.adopted {
		// Whatever is recorded: to resume what is not frozen is no error.
		if err := t.askShim(ctx, run, (*shim.Client).Resume); err != nil && k.Paused == session.Freeze {
			return err
		}
	}
	if _, err := t.tmux(ctx, "", tmuxwire.EnableInput(t.pane)); err != nil {
		return err
	}
	k.Paused = ""
	return t.save(k)
}

// SetTimeout changes the timeout of a run.
func (r *Runtime) SetTimeout(ctx context.Context, p session.Location, run string, timeout time.Duration) (err error) {
	defer annotate(&err, "set the timeout of", p.Name)
	t, _, err := r.holding(ctx, p, run)
	if err != nil {
		return err
	}
	return t.askShim(ctx, run, func(c *shim.Client, ctx context.Context) error { return c.Set(ctx, shim.Settings{Timeout: &timeout}) })
}

// holding returns the container of a place, which must run and hold the run.
func (r *Runtime) holding(ctx context.Context, p session.Location, run string) (t target, k record, err error) {
	if t, err = r.running(ctx, p); err == nil {
		k, err = t.loadRun(run)
	}
	return t, k, err
}

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
