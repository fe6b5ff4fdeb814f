package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Pause takes clients off and input away; with session.Freeze the agent and all
// below it stand still, too.
func (r *Runtime) Pause(ctx context.Context, p session.Place, run, mode string) error {
	fail := func(err error) error { return fmt.Errorf("pause session %q: %w", p.Name, err) }
	if mode != session.Detach && mode != session.Freeze {
		return fail(fmt.Errorf("unknown mode %q", mode))
	}
	in, err := r.running(ctx, p)
	if err != nil {
		return fail(err)
	}
	k, err := r.holding(in.id, run)
	if err != nil {
		return fail(err)
	}
	if in.container.State.Paused { // by somebody else, and now by us
		return r.shared(in.id).keep(k.paused(mode))
	}
	if mode == session.Freeze && !in.adopted {
		if err := r.askGuest(ctx, in.id, run, (*shim.Client).Pause); err != nil {
			return fail(err)
		}
	}
	if _, err := in.tmux(ctx, "", tmuxwire.DisableInput(in.pane)...); err != nil {
		return fail(err)
	}
	_, _ = in.tmux(ctx, "", "detach-client", "-s", in.pane) // fails when nobody is attached
	if mode == session.Freeze && in.adopted {
		if err := r.pauseContainer(ctx, in); err != nil {
			return fail(err)
		}
	}
	if err := r.shared(in.id).keep(k.paused(mode)); err != nil {
		return fail(err)
	}
	return nil
}

func (k kept) paused(mode string) kept {
	k.Paused = mode
	return k
}

// pauseContainer makes everything in a container stand still, where no guest could.
func (r *Runtime) pauseContainer(ctx context.Context, in lodging) error {
	c, err := r.engine()
	if err != nil {
		return err
	}
	return explain(c.ContainerPause(ctx, in.container.ID))
}

// Resume undoes whichever pause there is, also of the container by somebody else.
func (r *Runtime) Resume(ctx context.Context, p session.Place, run string) error {
	fail := func(err error) error { return fmt.Errorf("resume session %q: %w", p.Name, err) }
	in, err := r.running(ctx, p)
	if err != nil {
		return fail(err)
	}
	k, err := r.holding(in.id, run)
	if err != nil {
		return fail(err)
	}
	if in.container.State.Paused {
		c, err := r.engine()
		if err == nil {
			err = explain(c.ContainerUnpause(ctx, in.container.ID))
		}
		if err != nil {
			return fail(err)
		}
	}
	if !in.adopted {
		// Asked whatever is kept: it is no error if nothing stands still.
		if err := r.askGuest(ctx, in.id, run, (*shim.Client).Resume); err != nil && k.Paused == session.Freeze {
			return fail(err)
		}
	}
	if _, err := in.tmux(ctx, "", tmuxwire.EnableInput(in.pane)...); err != nil {
		return fail(err)
	}
	if err := r.shared(in.id).keep(k.paused("")); err != nil {
		return fail(err)
	}
	return nil
}

// holding is what is kept of a container, if that run is in it.
func (r *Runtime) holding(id, run string) (kept, error) {
	k, err := r.shared(id).kept()
	if err == nil && k.Mark.Run != run {
		err = fmt.Errorf("it holds run %s, not %s", k.Mark.Run, run)
	}
	return k, err
}

// askGuest asks the guest of a run. Who answers on its socket may be anything in the
// container, and is asked for its run first.
func (r *Runtime) askGuest(ctx context.Context, id, run string, what func(*shim.Client, context.Context) error) error {
	c, err := shim.Dial(ctx, r.shared(id).guestSocket())
	if err != nil {
		return err
	}
	defer c.Close()
	h, err := c.Hello(ctx)
	if err == nil && h.Run != run {
		err = fmt.Errorf("the guest that answers has run %.40q: that of run %s %w", h.Run, run, session.ErrGone)
	}
	if err != nil {
		return err
	}
	return what(c, ctx)
}

// answers reports whether the guest of that run answers, so that its agent lives.
func (r *Runtime) answers(id, run string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return r.askGuest(ctx, id, run, func(*shim.Client, context.Context) error { return nil }) == nil
}

// SetTimeout changes the longest run of a live session.
func (r *Runtime) SetTimeout(ctx context.Context, p session.Place, run string, timeout time.Duration) error {
	in, err := r.running(ctx, p)
	if err == nil {
		_, err = r.holding(in.id, run)
	}
	if err == nil {
		err = r.askGuest(ctx, in.id, run, func(c *shim.Client, ctx context.Context) error { return c.Set(ctx, shim.Settings{Timeout: &timeout}) })
	}
	if err != nil {
		return fmt.Errorf("set the timeout of session %q: %w", p.Name, err)
	}
	return nil
}
