package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// inside is who looks and acts in a container: its first process, or, where that is
// somebody else's, what the engine executes there.
type inside interface {
	Look(ctx context.Context, runDir, target, format string, screen bool) (shim.Inside, error)
	Tmux(ctx context.Context, stdin string, args ...string) (shim.TmuxReply, error)
	End(ctx context.Context, run, runDir, signal string, grace time.Duration) error
}

var (
	_ inside = shim.Keeper{}
	_ inside = byExec{}
)

// lodging is a container of ours, and the session in it.
type lodging struct {
	inside
	id        string // of the session
	container container.InspectResponse
	pane      string // the agent's
	adopted   bool
}

// lodging looks at the container of a place. The error is session.ErrGone if there is
// none.
func (r *Runtime) lodging(ctx context.Context, p session.Place) (lodging, error) {
	i, err := r.inspect(ctx, p)
	if err != nil {
		return lodging{}, err
	}
	if id, adopted := r.adopted(i.ID); adopted {
		pane := r.paneOf(id)
		return lodging{inside: byExec{r, i.ID, pane}, id: id, container: i, pane: pane, adopted: true}, nil
	}
	id := i.Config.Labels[labelID]
	return lodging{inside: r.keeper(id), id: id, container: i, pane: pane}, nil
}

// running is lodging of a container that runs.
func (r *Runtime) running(ctx context.Context, p session.Place) (lodging, error) {
	in, err := r.lodging(ctx, p)
	if err == nil && !in.container.State.Running {
		err = fmt.Errorf("its container does not run: it %w", session.ErrGone)
	}
	return in, err
}

// keeper is the first process of the container of a session.
func (r *Runtime) keeper(id string) shim.Keeper { return shim.Keeper{Dir: r.shared(id).sockets} }

// tmux runs a tmux command in a container. The error is session.ErrGone where what it
// is about is not there.
func (in lodging) tmux(ctx context.Context, stdin string, args ...string) (string, error) {
	t, err := in.Tmux(ctx, stdin, args...)
	if err != nil {
		return "", err
	}
	if t.Code == 0 {
		return t.Stdout, nil
	}
	if reason := tmuxwire.Reason(t.Stderr); errors.Is(reason, tmuxwire.ErrNoSession) || errors.Is(reason, tmuxwire.ErrNoServer) {
		return "", fmt.Errorf("tmux in the container: %.200s: the session %w", t.Stderr, session.ErrGone)
	}
	return "", fmt.Errorf("tmux %s in the container: %.200s", args[0], t.Stderr)
}

// adoptions is where links stand that lead from the id of an adopted container, which
// cannot be given labels, to that of its session.
func (r *Runtime) adoptions() string { return filepath.Join(r.config.DataDir, "adopted") }

// adopted is the session of an adopted container.
func (r *Runtime) adopted(container string) (id string, ok bool) {
	id, err := os.Readlink(filepath.Join(r.adoptions(), container))
	return id, err == nil && filepath.IsLocal(id)
}

// paneOf is the pane of an adopted session; empty: what was kept of it is lost.
func (r *Runtime) paneOf(id string) string {
	k, _ := r.shared(id).kept()
	return k.Pane
}
