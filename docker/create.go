package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// cleanupTimeout bounds what is undone after a failure, whatever became of the
// caller's context.
const cleanupTimeout = 30 * time.Second

// Create makes the container and starts the run in it.
func (r *Runtime) Create(ctx context.Context, l session.Launch) (session.Place, error) {
	p, err := r.create(ctx, l)
	if err != nil {
		return session.Place{}, fmt.Errorf("start session %q: %w", l.Name, err)
	}
	return p, nil
}

func (r *Runtime) create(ctx context.Context, l session.Launch) (session.Place, error) {
	if len(r.config.Guest) == 0 {
		return session.Place{}, errors.New("docker: there is no guest to start")
	}
	if ctx.Err() != nil {
		return session.Place{}, ctx.Err()
	}
	c, err := r.engine()
	if err != nil {
		return session.Place{}, err
	}
	of, err := ownerOf(l.Spec.Runtime.Docker)
	if err != nil {
		return session.Place{}, err
	}
	f := r.shared(l.Mark.ID)
	_, stood := os.Lstat(f.sockets)
	if err := f.make(of); err != nil {
		return session.Place{}, err
	}
	if err := r.usable(of); err != nil {
		return session.Place{}, err
	}
	config, host := r.placing(l, of)
	// The engine goes on with what it was told whatever becomes of who told it, so
	// that what it made has to be known.
	making, enough := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer enough()
	made, err := c.ContainerCreate(making, config, host, nil, nil, l.Name)
	if errdefs.IsConflict(err) {
		return session.Place{}, fmt.Errorf("container %s %w", l.Name, session.ErrExists)
	}
	if err != nil {
		if stood != nil { // of one that stands they are in use
			err = errors.Join(err, f.discard())
		}
		return session.Place{}, explain(err)
	}
	p := session.Place{Runtime: "docker", Socket: shim.KeptSocket, Name: l.Name, Container: made.ID}
	if err = explain(c.ContainerStart(ctx, made.ID, container.StartOptions{})); err == nil {
		err = r.begin(ctx, p, l, of, r.config.Guest)
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		return session.Place{}, errors.Join(err, r.Remove(undo, p))
	}
	return p, nil
}
