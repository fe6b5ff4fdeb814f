package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// Restart starts a new run in the session's container, which is started if it does
// not run. One that was never started has nothing in it: another takes its place.
func (r *Runtime) Restart(ctx context.Context, p session.Place, l session.Launch) (session.Place, error) {
	p, err := r.restart(ctx, p, l)
	if err != nil {
		return session.Place{}, fmt.Errorf("restart session %q: %w", l.Name, err)
	}
	return p, nil
}

func (r *Runtime) restart(ctx context.Context, p session.Place, l session.Launch) (session.Place, error) {
	in, err := r.lodging(ctx, p)
	i := in.container
	switch {
	case err != nil:
		return p, err
	case in.id != l.Mark.ID:
		return p, fmt.Errorf("container %s is not this session's", p.Name)
	case in.adopted:
		return p, fmt.Errorf("container %s was adopted: it has no guest that could start anything in it; agentform apply --replace %q makes one that has", p.Name, l.Mark.Address)
	}
	if i.State.Status == container.StateCreated {
		// An engine that was killed while it started a container may never start it.
		if err := r.Remove(ctx, p); err != nil {
			return p, err
		}
		return r.create(ctx, l)
	}
	if r.moved(l.Mark.ID) {
		if i.State.Running {
			err = r.vacant(ctx, l.Mark.ID)
		}
		if err == nil {
			err = r.Remove(ctx, p)
		}
		if err != nil {
			return p, err
		}
		return r.create(ctx, l)
	}
	c, err := r.engine()
	if err != nil {
		return p, err
	}
	of, err := ownerOf(l.Spec.Runtime.Docker)
	if err != nil {
		return p, err
	}
	p = session.Place{Runtime: "docker", Socket: shim.KeptSocket, Name: strings.TrimPrefix(i.Name, "/"), Container: i.ID}
	if i.State.Paused {
		if err := c.ContainerUnpause(ctx, i.ID); err != nil {
			return p, explain(err)
		}
	}
	if i.State.Running {
		err = r.vacant(ctx, l.Mark.ID)
	} else if err = r.shared(l.Mark.ID).make(of); err == nil { // the sockets' folder may be gone with a reboot
		err = unstuck(c.ContainerStart(ctx, i.ID, container.StartOptions{}), l.Mark.Address)
	}
	if err != nil {
		return p, err
	}
	if err := r.begin(ctx, p, l, of, r.programIn(i)); err != nil {
		// The place was there before and stays; the run must not.
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		return p, errors.Join(err, r.keeper(l.Mark.ID).End(undo, l.Mark.Run, l.RunDir, "SIGKILL", 0))
	}
	return p, nil
}

// programIn is the guest's program as a container has it mounted: that of the agentform
// which made it, and this may be a later one.
func (r *Runtime) programIn(i container.InspectResponse) []string {
	if at := slices.Index(i.Config.Entrypoint, shim.KeepMode); at > 0 {
		return i.Config.Entrypoint[:at]
	}
	return r.config.Guest
}

// unstuck says of a container that cannot be started what to do about it.
func unstuck(err error, a session.Address) error {
	if err != nil && strings.Contains(err.Error(), "task ") && strings.Contains(err.Error(), "already exists") {
		return fmt.Errorf("docker: %w (the engine was killed while it started the container, and cannot any more: agentform apply --replace %q makes another)", err, a)
	}
	return explain(err)
}

// vacant is why a new run cannot begin in a container that runs: another one has not
// ended, as far as can be told.
func (r *Runtime) vacant(ctx context.Context, id string) error {
	k, err := r.shared(id).kept()
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing was ever started in it
	}
	if err != nil {
		return err
	}
	in, err := r.keeper(id).Look(ctx, r.runIn(id, k.Mark.Run), "", "", false)
	switch {
	case err != nil:
		return fmt.Errorf("whether an agent lives in it cannot be told: %w", err)
	case in.Agent:
		return errors.New("the agent in it is alive")
	case in.Guest && in.Exit == nil:
		return errors.New("what its agent has left behind is being ended")
	}
	return nil
}
