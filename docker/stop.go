package docker

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/guest"
	"github.com/agentform/agentform/session"
)

// Stop ends a run and returns when nothing of it is left. A container whose first
// process does not answer is killed: then nothing is left in it.
func (r *Runtime) Stop(ctx context.Context, p session.Place, run string, s session.Stop) error {
	if err := r.stop(ctx, p, run, s); err != nil {
		return fmt.Errorf("stop session %q: %w", p.Name, err)
	}
	return nil
}

func (r *Runtime) stop(ctx context.Context, p session.Place, run string, s session.Stop) error {
	if !runForm.MatchString(run) {
		return fmt.Errorf("invalid run id %.80q", run)
	}
	i, err := r.inspect(ctx, p)
	if errors.Is(err, session.ErrGone) {
		return nil
	}
	if err != nil || !i.State.Running {
		return err
	}
	c, err := r.engine()
	if err != nil {
		return err
	}
	if i.State.Paused {
		if err := c.ContainerUnpause(ctx, i.ID); err != nil {
			return explain(err)
		}
	}
	k := r.keeper(i.Config.Labels[labelID])
	err = k.End(ctx, run, r.runDir(run), s.Signal, s.Grace.D())
	if err == nil || ctx.Err() != nil {
		return err
	}
	if kill := c.ContainerKill(ctx, i.ID, "SIGKILL"); kill != nil && !errdefs.IsConflict(kill) && !errdefs.IsNotFound(kill) {
		return errors.Join(err, explain(kill))
	}
	return nil
}

// Remove takes the container away and returns when the engine has none any more.
func (r *Runtime) Remove(ctx context.Context, p session.Place) error {
	if err := r.remove(ctx, p); err != nil {
		return fmt.Errorf("remove session %q: %w", p.Name, err)
	}
	return nil
}

func (r *Runtime) remove(ctx context.Context, p session.Place) error {
	i, err := r.inspect(ctx, p)
	if errors.Is(err, session.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	c, err := r.engine()
	if err != nil {
		return err
	}
	err = c.ContainerRemove(ctx, i.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // conflict: somebody removes it already
		return explain(err)
	}
	for {
		_, err := r.inspect(ctx, session.Place{Container: i.ID})
		if errors.Is(err, session.ErrGone) {
			return r.shared(i.Config.Labels[labelID]).discard()
		}
		if err != nil {
			return err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("it is still there: %w", err)
		}
	}
}

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
		if err := r.askGuest(ctx, id, (*guest.Client).Pause); err != nil {
			return fail(err)
		}
	}
	if _, err := r.tmux(ctx, id, "", "select-pane", "-d", "-t", exactly(p.Name)); err != nil {
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
	if err := r.askGuest(ctx, id, (*guest.Client).Resume); err != nil && k.Paused == session.Freeze {
		return fail(err)
	}
	if _, err := r.tmux(ctx, id, "", "select-pane", "-e", "-t", exactly(p.Name)); err != nil {
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

func (r *Runtime) askGuest(ctx context.Context, id string, what func(*guest.Client, context.Context) error) error {
	c, err := guest.Dial(ctx, r.shared(id).guestSocket())
	if err != nil {
		return err
	}
	defer c.Close()
	return what(c, ctx)
}

// answers reports whether the guest of that run answers, so that its agent lives.
func (r *Runtime) answers(id, run string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := guest.Dial(ctx, r.shared(id).guestSocket())
	if err != nil {
		return false
	}
	defer c.Close()
	h, err := c.Hello(ctx)
	return err == nil && h.Run == run
}

// SetTimeout changes the longest run of a live session.
func (r *Runtime) SetTimeout(ctx context.Context, p session.Place, run string, timeout time.Duration) error {
	id, err := r.running(ctx, p)
	if err == nil {
		_, err = r.holding(id, run)
	}
	if err == nil {
		err = r.askGuest(ctx, id, func(c *guest.Client, ctx context.Context) error { return c.Set(ctx, guest.Settings{Timeout: &timeout}) })
	}
	if err != nil {
		return fmt.Errorf("set the timeout of session %q: %w", p.Name, err)
	}
	return nil
}

// because is why a container does not run.
func because(s *container.State) string {
	switch {
	case s.Error != "":
		return "the container could not be started: " + s.Error
	case s.OOMKilled:
		return "the container was killed: out of memory"
	case s.Status == "created":
		return "the container was never started"
	case s.ExitCode > 128 && s.ExitCode != 143 && s.ExitCode != 130:
		return fmt.Sprintf("the container was killed (%s)", syscall.Signal(s.ExitCode-128))
	case s.ExitCode == 143 || s.ExitCode == 130:
		return "the container was stopped"
	}
	return fmt.Sprintf("the container ended (exit status %d)", s.ExitCode)
}
