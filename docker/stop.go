package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

// Stop ends a run. If the container's init fails to, Stop kills the container.
func (r *Runtime) Stop(ctx context.Context, p session.Location, run string, s session.Stop) (err error) {
	defer contained.Annotate(&err, "stop", p.Name)
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
		_, _ = t.inside.Look(ctx, t.runInside(run), "", "", false) // copies the exit, which the next Observe does, too
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
	defer contained.Annotate(&err, "remove", p.Name)
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
		_ = os.Remove(filepath.Join(t.adoptions(), t.container.ID)) // has no effect without a container
	}
	return t.dirs.remove()
}
