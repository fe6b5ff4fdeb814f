package docker

import (
	"context"
	"fmt"
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
