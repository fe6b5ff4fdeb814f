package docker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/agentform/agentform/internal/guest"
	"github.com/agentform/agentform/session"
)

// Config says whose containers these are, and where what they share lies.
type Config struct {
	SocketDir string   // of guest.SocketDir; each container has a folder below it
	DataDir   string   // runs/RUN and containers/ID
	Lineage   string   // Mark.Project of what is ours; empty: all that carries a mark
	Guest     []string // the guest's program, of guest.Install
	Host      string   // a docker context, or a URL as of DOCKER_HOST; empty: the environment's
}

// Runtime holds sessions in containers. It is a session.Runtime; its methods may be
// called from many goroutines. It touches nothing before it is used.
type Runtime struct {
	config Config
	engine func() (*client.Client, error)

	trying sync.Mutex
	tried  map[string]error // what Check has tried, by image and command

	mu     sync.Mutex
	typing map[string]*sync.Mutex
}

var _ session.Runtime = (*Runtime)(nil)

// New is a runtime.
func New(c Config) *Runtime {
	return &Runtime{config: c, tried: map[string]error{}, typing: map[string]*sync.Mutex{},
		engine: sync.OnceValues(func() (*client.Client, error) { return connect(c.Host) })}
}

// Close lets the engine go.
func (r *Runtime) Close() error {
	c, err := r.engine()
	if err != nil {
		return nil // there was nothing to close
	}
	return c.Close()
}

// The labels of a container.
const (
	labelProject = "agentform.project"
	labelAddress = "agentform.address"
	labelID      = "agentform.id"
	labelRun     = "agentform.run" // the first one
	labelHash    = "agentform.hash"
	labelOnce    = "agentform.once" // a command, and no session
)

// explain explains a failure of the engine.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "permission denied while trying to connect"):
		return fmt.Errorf("docker: the engine may not be used: %w (add yourself to the group docker: sudo usermod -aG docker $USER, and log in again)", err)
	case client.IsErrConnectionFailed(err):
		return fmt.Errorf("docker: no daemon answers: %w (sudo systemctl start docker)", err)
	}
	return fmt.Errorf("docker: %w", err)
}

// inspect is the container of a place, by its id or else its name. The error is
// session.ErrGone if there is none.
func (r *Runtime) inspect(ctx context.Context, p session.Place) (container.InspectResponse, error) {
	c, err := r.engine()
	if err != nil {
		return container.InspectResponse{}, err
	}
	name := p.Container
	if name == "" {
		name = p.Name
	}
	if name == "" {
		return container.InspectResponse{}, session.ErrGone
	}
	i, err := c.ContainerInspect(ctx, name)
	switch {
	case errdefs.IsNotFound(err):
		return i, session.ErrGone
	case err != nil:
		return i, explain(err)
	case i.Config == nil || i.State == nil:
		return i, errors.New("docker: the engine tells nothing of the container")
	case i.Config.Labels[labelID] == "":
		return i, fmt.Errorf("container %s is not ours", name)
	case r.config.Lineage != "" && i.Config.Labels[labelProject] != r.config.Lineage:
		return i, fmt.Errorf("container %s is another project's", name)
	}
	return i, nil
}

// keeper is the first process of the container of a session.
func (r *Runtime) keeper(id string) guest.Keeper { return guest.Keeper{Dir: r.shared(id).sockets} }

// running is the session id of a place whose container runs.
func (r *Runtime) running(ctx context.Context, p session.Place) (id string, err error) {
	i, err := r.inspect(ctx, p)
	if err == nil && !i.State.Running {
		err = fmt.Errorf("its container does not run: it %w", session.ErrGone)
	}
	if err != nil {
		return "", err
	}
	return i.Config.Labels[labelID], nil
}

// Attach is the command that gives a terminal to the session.
func (r *Runtime) Attach(p session.Place) []string {
	argv := []string{"docker"}
	switch {
	case strings.Contains(r.config.Host, "://"):
		argv = append(argv, "-H", r.config.Host)
	case r.config.Host != "":
		argv = append(argv, "--context", r.config.Host)
	}
	return append(argv, "exec", "-it", p.Container, "tmux", "-u", "-S", guest.KeptSocket, "attach-session", "-t", exactly(p.Name))
}

// exactly is a session's name as a target that matches nothing else.
func exactly(name string) string { return "=" + name + ":" }

// runDir is where a run's folder is looked for.
func (r *Runtime) runDir(run string) string { return filepath.Join(r.config.DataDir, "runs", run) }
