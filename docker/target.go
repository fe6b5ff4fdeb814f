package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// inside inspects and acts in a container: its init does, or, in an adopted container,
// commands that the engine executes there.
type inside interface {
	Look(ctx context.Context, runDir, target, format string, screen bool) (shim.ContainerRun, error)
	Tmux(ctx context.Context, stdin string, args ...string) (shim.TmuxReply, error)
	End(ctx context.Context, run, runDir, signal string, grace time.Duration) error
}

var (
	_ inside = initClient{}
	_ inside = byExec{}
)

// pane is the agent's pane in containers with an init: each run has a tmux server of
// its own, and this is the server's first pane.
const pane = "%0"

// target is a managed container and the session in it.
type target struct {
	inside
	dirs
	engine    engine
	container container.InspectResponse
	pane      string // the agent's
	adopted   bool
}

// target returns the container of a place. The error is session.ErrGone if there is
// none.
func (r *Runtime) target(ctx context.Context, p session.Location) (target, error) {
	c, err := r.engine()
	if err != nil {
		return target{}, err
	}
	t := target{engine: c, pane: pane}
	if t.container, err = inspect(ctx, c, cmp.Or(p.Container, p.Name)); err != nil {
		return t, err
	}
	labels := t.container.Config.Labels
	id, adopted := r.files.adopted(t.container.ID)
	switch {
	case adopted:
		t.adopted, t.dirs = true, r.files.session(id)
		k, _ := t.load() // without it the pane is unknown
		t.pane, t.inside = k.Pane, byExec{r.exec, t.container.ID, k.Pane}
	case labels[labelID] == "":
		return t, fmt.Errorf("container %s is not managed by agentform", p.Name)
	case r.config.Lineage != "" && labels[labelProject] != r.config.Lineage:
		return t, fmt.Errorf("container %s belongs to another project", p.Name)
	default:
		t.dirs = r.session(labels[labelID], t.container.ID, labels[labelProgram])
		t.inside = t.init()
	}
	return t, nil
}

func (r *Runtime) running(ctx context.Context, p session.Location) (target, error) {
	t, err := r.target(ctx, p)
	if err == nil && !t.container.State.Running {
		err = fmt.Errorf("its container is not running: it %w", session.ErrGone)
	}
	return t, err
}

// tmux runs tmux commands in the container. The error is session.ErrGone if the session
// or its server does not exist.
func (t target) tmux(ctx context.Context, stdin string, cmds ...tmuxwire.Command) (string, error) {
	reply, err := t.Tmux(ctx, stdin, tmuxwire.Args(cmds...)...)
	if err != nil || reply.Code == 0 {
		return reply.Stdout, err
	}
	if reason := tmuxwire.Reason(reply.Stderr); errors.Is(reason, tmuxwire.ErrNoSession) || errors.Is(reason, tmuxwire.ErrNoServer) {
		return "", fmt.Errorf("tmux in the container: %.200s: the session %w", reply.Stderr, session.ErrGone)
	}
	return "", fmt.Errorf("tmux %s in the container: %.200s", cmds[0][0], reply.Stderr)
}

func (t target) unpause(ctx context.Context) error {
	if !t.container.State.Paused {
		return nil
	}
	return explain(t.engine.ContainerUnpause(ctx, t.container.ID))
}
