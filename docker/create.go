package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// Create creates the container and starts the run in it.
func (r *Runtime) Create(ctx context.Context, l session.Launch) (at session.Location, err error) {
	defer contained.Annotate(&err, "start", l.Name)
	return r.create(ctx, l)
}

func (r *Runtime) create(ctx context.Context, l session.Launch) (at session.Location, err error) {
	if len(r.config.Shim) == 0 {
		return at, errors.New("docker: agentform-shim not found")
	}
	if ctx.Err() != nil {
		return at, ctx.Err()
	}
	c, err := r.engine()
	if err != nil {
		return at, err
	}
	of, err := git.OwnerOf(l.Spec.Runtime.Docker)
	if err != nil {
		return at, err
	}
	program := r.config.programs(l.Dir)
	f := r.session(l.Mark.ID, l.Name, program[0])
	var file string
	elsewhere := f.dial != nil
	if elsewhere {
		if err := checkElsewhere(l.Dir); err != nil {
			return at, err
		}
		if file, err = r.config.shim(ctx, c); err != nil {
			return at, err
		}
		if l.RunDir, err = r.files.newRun(l); err != nil {
			return at, err
		}
	}
	_, existed := os.Lstat(f.sockets)
	if err := f.make(of); err != nil {
		return at, err
	}
	// The engine completes a request even if the caller's context ends, so the reply must be
	// awaited.
	making, cancel := contained.Detached(ctx)
	defer cancel()
	if elsewhere {
		rec := session.Record{ID: l.Mark.ID, Address: l.Mark.Address, Tree: session.WorkspaceState{Path: l.Dir, Branch: l.Spec.Branch}}
		err = r.config.ensureVolume(making, c, rec)
	} else {
		err = r.config.share(of)
	}
	if err != nil {
		return at, err
	}
	config, host := r.config.sessionSettings(l, f, of)
	made, err := c.ContainerCreate(making, config, host, nil, nil, l.Name)
	if errdefs.IsConflict(err) {
		return at, fmt.Errorf("container %s %w", l.Name, session.ErrExists)
	}
	if err != nil {
		if existed != nil && !elsewhere { // otherwise the sockets belong to another container
			err = errors.Join(err, os.RemoveAll(f.sockets))
		}
		return at, explain(err)
	}
	p := session.Location{Runtime: "docker", Socket: shim.TmuxSocket, Name: l.Name, Container: made.ID}
	if elsewhere {
		f.dial = r.dial(made.ID, program[0])
		err = r.config.equip(ctx, c, made.ID, l.Dir, of, file, "", "")
	}
	if err == nil {
		err = explain(c.ContainerStart(ctx, made.ID, container.StartOptions{}))
	}
	if err == nil {
		err = start{c, f, l, program, r.config}.run(ctx, p, of)
	}
	if err != nil {
		undo, cancel := contained.Detached(ctx)
		defer cancel()
		return at, errors.Join(err, r.Remove(undo, p))
	}
	return p, nil
}

// newRun creates the directory of a run on this machine, for a copy of the run's files.
func (f files) newRun(l session.Launch) (string, error) {
	if !proc.ValidRun(l.Mark.Run) {
		return "", fmt.Errorf("invalid run id %.80q", l.Mark.Run)
	}
	dir := f.run(l.Mark.Run)
	return dir, os.MkdirAll(dir, 0o700)
}

// Restart starts a new run in the session's container. It replaces a container that can never
// start.
func (r *Runtime) Restart(ctx context.Context, p session.Location, l session.Launch) (at session.Location, err error) {
	defer contained.Annotate(&err, "restart", l.Name)
	t, err := r.target(ctx, p)
	switch {
	case err != nil:
		return at, err
	case t.id != l.Mark.ID:
		return at, fmt.Errorf("container %s is not this session's", p.Name)
	case t.adopted:
		return at, errors.New(remedy.With(fmt.Sprintf("container %s was adopted: it has no shim to start an agent with", p.Name),
			session.Remedy{Code: session.RemedyReplaceShimless, Address: l.Mark.Address}))
	}
	// An engine that was killed while it started a container may never start it, and a
	// container from before the project was moved has mounts that do not exist.
	k, err := t.load()
	moved := err == nil && (k.Runs != "" || k.Elsewhere && rootOf(k.Dir) != rootOf(l.Dir))
	if t.container.State.Status == container.StateCreated || moved {
		if t.container.State.Running {
			if err := t.vacant(ctx); err != nil {
				return at, err
			}
		}
		if err := r.Remove(ctx, p); err != nil {
			return at, err
		}
		return r.create(ctx, l)
	}
	of, err := git.OwnerOf(l.Spec.Runtime.Docker)
	if err == nil {
		err = t.unpause(ctx)
	}
	switch {
	case err != nil:
	case t.container.State.Running:
		err = t.vacant(ctx)
	default:
		if err = t.make(of); err == nil { // a reboot removes the directory of the sockets
			err = unstuck(t.engine.ContainerStart(ctx, t.container.ID, container.StartOptions{}), l.Mark.Address)
		}
	}
	if err != nil {
		return at, err
	}
	p = session.Location{Runtime: "docker", Socket: shim.TmuxSocket, Name: strings.TrimPrefix(t.container.Name, "/"), Container: t.container.ID}
	if t.dial != nil {
		if l.RunDir, err = r.files.newRun(l); err != nil {
			return at, err
		}
		file, err := r.config.shim(ctx, t.engine)
		if err == nil {
			err = r.config.equip(ctx, t.engine, t.container.ID, l.Dir, of, file, "", "")
		}
		if err != nil {
			return at, err
		}
		t.dial = r.dial(t.container.ID, r.config.programs(l.Dir)[0])
	}
	if err := (start{t.engine, t.dirs, l, r.config.programIn(t.container), r.config}).run(ctx, p, of); err != nil {
		// The container stays, without the run.
		undo, cancel := contained.Detached(ctx)
		defer cancel()
		return at, errors.Join(err, t.End(undo, l.Mark.Run, l.RunDir, "SIGKILL", 0))
	}
	return p, nil
}

// programIn returns the path of the shim's program in a container: the one mounted by the agentform
// that created the container, perhaps an earlier version.
func (c Config) programIn(i container.InspectResponse) []string {
	if at := slices.Index(i.Config.Entrypoint, shim.InitMode); at > 0 {
		return i.Config.Entrypoint[:at]
	}
	return c.Shim
}

// unstuck adds a remedy to the error of a container that cannot be started.
func unstuck(err error, a session.Address) error {
	if err != nil && strings.Contains(err.Error(), "task ") && strings.Contains(err.Error(), "already exists") {
		return fmt.Errorf("docker: %w (%s)", err, remedy.With("the engine was killed while it started the container, and cannot start it any more",
			session.Remedy{Code: session.RemedyReplaceStuck, Address: a}))
	}
	return explain(err)
}

// vacant returns an error unless the last run in the container has ended.
func (t target) vacant(ctx context.Context) error {
	k, err := t.load()
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing was ever started in it
	}
	if err != nil {
		return err
	}
	in, err := t.inside.Look(ctx, t.runInside(k.Mark.Run), "", "", false)
	if err != nil {
		return fmt.Errorf("cannot find out whether an agent runs in it: %w", err)
	}
	return contained.Vacant(in)
}
