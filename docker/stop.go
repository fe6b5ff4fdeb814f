package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/reported"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Stop ends a run. A container whose init does not do that is killed.
func (r *Runtime) Stop(ctx context.Context, p session.Location, run string, s session.Stop) (err error) {
	defer annotate(&err, "stop", p.Name)
	if !proc.ValidRun(run) {
		return fmt.Errorf("invalid run id %.80q", run)
	}
	t, err := r.target(ctx, p)
	if errors.Is(err, session.ErrGone) {
		return nil
	}
	if err != nil || !t.container.State.Running {
		return err
	}
	if err := t.unpause(ctx); err != nil {
		return err
	}
	err = t.End(ctx, run, t.runInside(run), s.Signal, s.Grace.D())
	if err == nil && t.dial != nil {
		_, _ = t.Look(ctx, t.runInside(run), "", "", false) // it copies the exit; the next Observe does, too
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	if killed := kill(ctx, t.engine, t.container.ID); killed != nil {
		return errors.Join(err, killed)
	}
	return nil
}

func kill(ctx context.Context, c engine, id string) error {
	err := c.ContainerKill(ctx, id, "SIGKILL")
	switch {
	case errdefs.IsNotFound(err), errdefs.IsConflict(err): // it does not run
		return nil
	case err != nil:
		return explain(err)
	}
	ended, failed := c.ContainerWait(ctx, id, container.WaitConditionNotRunning)
	select {
	case <-ended:
		return nil
	case err := <-failed:
		if errdefs.IsNotFound(err) {
			return nil
		}
		return explain(err)
	}
}

// Remove removes the container and returns when the engine has none.
func (r *Runtime) Remove(ctx context.Context, p session.Location) (err error) {
	defer annotate(&err, "remove", p.Name)
	t, err := r.target(ctx, p)
	if errors.Is(err, session.ErrGone) {
		return nil
	}
	if err == nil {
		err = remove(ctx, t.engine, t.container.ID)
	}
	if err != nil {
		return err
	}
	if t.adopted {
		_ = os.Remove(filepath.Join(t.adoptions(), t.container.ID)) // without a container it has no effect
	}
	return t.dirs.remove()
}

// Pause detaches clients and disables input. With session.Freeze it also freezes the
// agent and its children.
func (r *Runtime) Pause(ctx context.Context, p session.Location, run, mode string) (err error) {
	defer annotate(&err, "pause", p.Name)
	if mode != session.Detach && mode != session.Freeze {
		return fmt.Errorf("unknown mode %q", mode)
	}
	t, k, err := holding(ctx, r, p, run)
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
	t, k, err := holding(ctx, r, p, run)
	if err != nil {
		return err
	}
	if err := t.unpause(ctx); err != nil {
		return err
	}
	if !t.adopted {
		// Whatever is recorded: to resume what is not frozen is not an error.
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
	t, _, err := holding(ctx, r, p, run)
	if err != nil {
		return err
	}
	return t.askShim(ctx, run, func(c *shim.Client, ctx context.Context) error { return c.Set(ctx, shim.Settings{Timeout: &timeout}) })
}

// holding returns the container of a place, which must run and hold the run.
func holding(ctx context.Context, r *Runtime, p session.Location, run string) (t target, k record, err error) {
	if t, err = r.running(ctx, p); err == nil {
		k, err = t.loadRun(run)
	}
	return t, k, err
}

// Probe runs a command next to the agent, in its container, for at most the timeout, and
// returns why the command failed, or nothing. The error is session.ErrUnprobeable if no
// shim answers.
func (r *Runtime) Probe(ctx context.Context, p session.Location, run string, argv []string, timeout time.Duration) (failed string, err error) {
	err = askRun(ctx, r, p, run, func(c *shim.Client, ctx context.Context) error {
		done, err := c.Probe(ctx, shim.Probe{Argv: argv, Timeout: timeout})
		failed = done.Failure(timeout)
		return err
	})
	return failed, err
}

// Verify runs a command next to the agent, in its container, for as long as it takes. The
// error is session.ErrUnprobeable if no shim answers, or one refuses.
func (r *Runtime) Verify(ctx context.Context, p session.Location, run string, argv []string, timeout time.Duration) (v session.Verification, err error) {
	err = askRun(ctx, r, p, run, func(c *shim.Client, ctx context.Context) error {
		done, err := c.Verify(ctx, shim.Probe{Argv: argv, Timeout: timeout})
		v = reported.Verification(done, timeout)
		return err
	})
	return v, err
}

// Unread returns how many bytes of its input the agent has not read. The error is
// session.ErrUnprobeable if no shim answers.
func (r *Runtime) Unread(ctx context.Context, p session.Location, run string) (n int, err error) {
	err = askRun(ctx, r, p, run, func(c *shim.Client, ctx context.Context) (err error) {
		n, err = c.Unread(ctx)
		return err
	})
	return n, err
}

// askRun asks the shim of a run. The error is session.ErrUnprobeable if it does not answer, or
// refuses.
func askRun(ctx context.Context, r *Runtime, p session.Location, run string, do func(*shim.Client, context.Context) error) error {
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
