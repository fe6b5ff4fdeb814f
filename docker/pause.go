package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/agentform/agentform/internal/guest"
	"github.com/agentform/agentform/session"
)

// Pause takes clients off and input away; with session.Freeze the agent and all
// below it stand still, too.
func (r *Runtime) Pause(ctx context.Context, p session.Place, run, mode string) error {
	fail := func(err error) error { return fmt.Errorf("pause session %q: %w", p.Name, err) }
	if mode != session.Detach && mode != session.Freeze {
		return fail(fmt.Errorf("unknown mode %q", mode))
	}
	id, err := r.running(ctx, p)
	if err != nil {
		return fail(err)
	}
	k, err := r.holding(id, run)
	if err != nil {
		return fail(err)
	}
	if mode == session.Freeze {
		if err := r.askGuest(ctx, id, run, (*guest.Client).Pause); err != nil {
			return fail(err)
		}
	}
	if _, err := r.tmux(ctx, id, "", "select-pane", "-d", "-t", pane); err != nil {
		return fail(err)
	}
	_, _ = r.tmux(ctx, id, "", "detach-client", "-s", exactly(p.Name)) // fails when nobody is attached
	k.Paused = mode
	if err := r.shared(id).keep(k); err != nil {
		return fail(err)
	}
	return nil
}

// Resume undoes whichever pause there is, also of the container by somebody else.
func (r *Runtime) Resume(ctx context.Context, p session.Place, run string) error {
	fail := func(err error) error { return fmt.Errorf("resume session %q: %w", p.Name, err) }
	i, err := r.inspect(ctx, p)
	if err != nil {
		return fail(err)
	}
	id := i.Config.Labels[labelID]
	if i.State.Paused {
		c, err := r.engine()
		if err == nil {
			err = explain(c.ContainerUnpause(ctx, i.ID))
		}
		if err != nil {
			return fail(err)
		}
	}
	k, err := r.holding(id, run)
	if err != nil {
		return fail(err)
	}
	if err := r.askGuest(ctx, id, run, (*guest.Client).Resume); err != nil && k.Paused == session.Freeze {
		return fail(err)
	}
	if _, err := r.tmux(ctx, id, "", "select-pane", "-e", "-t", pane); err != nil {
		return fail(err)
	}
	k.Paused = ""
	if err := r.shared(id).keep(k); err != nil {
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
func (r *Runtime) askGuest(ctx context.Context, id, run string, what func(*guest.Client, context.Context) error) error {
	c, err := guest.Dial(ctx, r.shared(id).guestSocket())
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
	return r.askGuest(ctx, id, run, func(*guest.Client, context.Context) error { return nil }) == nil
}

// SetTimeout changes the longest run of a live session.
func (r *Runtime) SetTimeout(ctx context.Context, p session.Place, run string, timeout time.Duration) error {
	id, err := r.running(ctx, p)
	if err == nil {
		_, err = r.holding(id, run)
	}
	if err == nil {
		err = r.askGuest(ctx, id, run, func(c *guest.Client, ctx context.Context) error { return c.Set(ctx, guest.Settings{Timeout: &timeout}) })
	}
	if err != nil {
		return fmt.Errorf("set the timeout of session %q: %w", p.Name, err)
	}
	return nil
}
