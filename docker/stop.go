package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/session"
)

// Stop ends a run and returns when nothing of it is left. A container whose first
// process does not do that is killed: then nothing is left in it.
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
	in, err := r.lodging(ctx, p)
	if errors.Is(err, session.ErrGone) {
		return nil
	}
	if err != nil || !in.container.State.Running {
		return err
	}
	c, err := r.engine()
	if err != nil {
		return err
	}
	if in.container.State.Paused {
		if err := c.ContainerUnpause(ctx, in.container.ID); err != nil {
			return explain(err)
		}
	}
	err = in.End(ctx, run, r.runIn(in.id, run), s.Signal, s.Grace.D())
	if err == nil || ctx.Err() != nil {
		return err
	}
	if killed := kill(ctx, c, in.container.ID); killed != nil {
		return errors.Join(err, killed)
	}
	return nil
}

// kill ends a container and all that is in it, and returns when it does not run.
func kill(ctx context.Context, c engine, id string) error {
	err := c.ContainerKill(ctx, id, "SIGKILL")
	switch {
	case errdefs.IsNotFound(err), errdefs.IsConflict(err): // it does not run any more
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

// Remove takes the container away and returns when the engine has none any more.
func (r *Runtime) Remove(ctx context.Context, p session.Place) error {
	if err := r.remove(ctx, p); err != nil {
		return fmt.Errorf("remove session %q: %w", p.Name, err)
	}
	return nil
}

func (r *Runtime) remove(ctx context.Context, p session.Place) error {
	in, err := r.lodging(ctx, p)
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
	id := in.container.ID
	err = c.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // conflict: somebody removes it already
		return explain(err)
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		_, err := r.inspect(ctx, session.Place{Container: id})
		if errors.Is(err, session.ErrGone) {
			if in.adopted {
				_ = os.Remove(filepath.Join(r.adoptions(), id)) // leads nowhere, if it stays
			}
			return r.shared(in.id).home(r.config.DataDir)
		}
		if err != nil {
			return err
		}
		if err := sleep(ctx, wait); err != nil {
			return fmt.Errorf("it is still there: %w", err)
		}
	}
}
