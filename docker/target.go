package docker

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// inside inspects and acts in a container through its init or, in an adopted container, through
// commands that the engine executes.
type inside interface {
	Look(ctx context.Context, runDir, target, format string, screen bool) (shim.ContainerRun, error)
	Tmux(ctx context.Context, stdin string, args ...string) (shim.TmuxReply, error)
	End(ctx context.Context, run, runDir, signal string, grace time.Duration) error
}

var (
	_ inside = initClient{}
	_ inside = byExec{}
)

// target is a managed container and the session in it.
type target struct {
	inside
	dirs
	engine    engine
	container container.InspectResponse
	pane      string // the agent's
	adopted   bool
}

// target returns the container of a place. The error is session.ErrGone if it does not exist.
func (r *Runtime) target(ctx context.Context, p session.Location) (target, error) {
	c, err := r.engine()
	if err != nil {
		return target{}, err
	}
	t := target{engine: c, pane: contained.Pane}
	if t.container, err = inspect(ctx, c, cmp.Or(p.Container, p.Name)); err != nil {
		return t, err
	}
	labels := t.container.Config.Labels
	id, adopted := r.files.adopted(t.container.ID)
	switch {
	case adopted:
		t.adopted, t.dirs = true, r.files.session(id)
		k, _ := t.load() // the pane is unknown without it
		t.pane, t.inside = k.Pane, byExec{r.exec, t.container.ID, k.Pane}
	case labels[labelID] == "":
		return t, fmt.Errorf("container %s is not managed by agentform", p.Name)
	case r.config.foreign(markOf(labels), strings.TrimPrefix(t.container.Name, "/"), labels, t.container.Mounts):
		return t, fmt.Errorf("container %s belongs to another project", p.Name)
	default:
		t.dirs = r.session(labels[labelID], t.container.ID, labels[labelProgram])
		t.inside = t.init()
	}
	return t, nil
}

// running returns the place of a session whose container is running.
func (r *Runtime) running(ctx context.Context, p session.Location) (contained.Place, error) {
	t, err := r.target(ctx, p)
	if err == nil && !t.container.State.Running {
		err = fmt.Errorf("its container is not running: it %w", session.ErrGone)
	}
	if err != nil {
		return contained.Place{}, err
	}
	at := contained.Place{Inside: t, Kind: "container", Pane: t.pane}
	if t.adopted {
		at.Freeze = func(ctx context.Context) error { return explain(t.engine.ContainerPause(ctx, t.container.ID)) }
	}
	if t.container.State.Paused {
		at.Unpause = t.unpause
	}
	return at, nil
}

// Recorded returns the container's last run, and the mode in which the session is paused.
func (t target) Recorded() (run, paused string, err error) {
	k, err := t.load()
	return k.Mark.Run, k.Paused, err
}

// SetPaused records the mode in which the session is paused.
func (t target) SetPaused(_ context.Context, mode string) error {
	k, err := t.load()
	if err != nil {
		return err
	}
	k.Paused = mode
	return t.save(k)
}

// Look returns the status of the container's last run.
func (t target) Look(ctx context.Context) (shim.ContainerRun, error) {
	k, err := t.load()
	if err != nil {
		return shim.ContainerRun{}, err
	}
	return t.inside.Look(ctx, t.runInside(k.Mark.Run), t.pane, tmuxwire.PaneFormat, false)
}

func (t target) unpause(ctx context.Context) error {
	if !t.container.State.Paused {
		return nil
	}
	return explain(t.engine.ContainerUnpause(ctx, t.container.ID))
}
