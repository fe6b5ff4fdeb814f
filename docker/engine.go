package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// engine is what is asked of a Docker engine, and all that is.
type engine interface {
	io.Closer
	DaemonHost() string
	ContainerList(context.Context, container.ListOptions) ([]container.Summary, error)
	ContainerInspect(ctx context.Context, id string) (container.InspectResponse, error)
	ContainerCreate(context.Context, *container.Config, *container.HostConfig, *network.NetworkingConfig, *ocispec.Platform, string) (container.CreateResponse, error)
	ContainerStart(ctx context.Context, id string, o container.StartOptions) error
	ContainerUnpause(ctx context.Context, id string) error
	ContainerPause(ctx context.Context, id string) error
	ContainerKill(ctx context.Context, id, signal string) error
	ContainerRemove(ctx context.Context, id string, o container.RemoveOptions) error
	ContainerWait(ctx context.Context, id string, until container.WaitCondition) (<-chan container.WaitResponse, <-chan error)
	ContainerLogs(ctx context.Context, id string, o container.LogsOptions) (io.ReadCloser, error)
	ContainerAttach(ctx context.Context, id string, o container.AttachOptions) (types.HijackedResponse, error)
	ContainerExecCreate(ctx context.Context, id string, o container.ExecOptions) (container.ExecCreateResponse, error)
	ContainerExecAttach(ctx context.Context, exec string, o container.ExecAttachOptions) (types.HijackedResponse, error)
	ContainerExecInspect(ctx context.Context, exec string) (container.ExecInspect, error)
	ImageInspect(ctx context.Context, name string, o ...client.ImageInspectOption) (image.InspectResponse, error)
	ServerVersion(context.Context) (types.Version, error)
	Events(context.Context, events.ListOptions) (<-chan events.Message, <-chan error)
}

var _ engine = (*client.Client)(nil)

// explain says of a failure of the engine what to do about it.
func explain(err error) error {
	var dialing *net.OpError
	var asking *url.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &dialing) && errors.Is(dialing, fs.ErrPermission):
		return fmt.Errorf("docker: you may not use the engine: %w (add yourself to the group docker: sudo usermod -aG docker $USER, and log in again)", dialing)
	case client.IsErrConnectionFailed(err):
		return fmt.Errorf("docker: no daemon answers: %w (sudo systemctl start docker)", err)
	case errors.As(err, &asking):
		return fmt.Errorf("docker: ask the engine: %w", asking.Err) // the address is of no use to a person
	}
	return fmt.Errorf("docker: %w", err)
}

// inspect is the container of ours that a place names, by its id or else its name.
// The error is session.ErrGone if there is none.
func (r *Runtime) inspect(ctx context.Context, p session.Place) (container.InspectResponse, error) {
	i, err := r.anybodys(ctx, p)
	if err != nil {
		return i, err
	}
	_, adopted := r.adopted(i.ID)
	switch {
	case adopted:
	case i.Config.Labels[labelID] == "":
		return i, fmt.Errorf("container %s is not ours", p.Name)
	case r.config.Lineage != "" && i.Config.Labels[labelProject] != r.config.Lineage:
		return i, fmt.Errorf("container %s is another project's", p.Name)
	}
	return i, nil
}

// anybodys is inspect, whoever made the container.
func (r *Runtime) anybodys(ctx context.Context, p session.Place) (container.InspectResponse, error) {
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
	case i.Config == nil || i.State == nil || i.ContainerJSONBase == nil:
		return i, errors.New("docker: the engine tells nothing of the container")
	}
	return i, nil
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
	case s.ExitCode == 128+sigINT || s.ExitCode == 128+sigTERM:
		return "the container was stopped"
	case s.ExitCode > 128:
		return fmt.Sprintf("the container was killed (%s)", shim.SignalName(s.ExitCode-128))
	}
	return fmt.Sprintf("the container ended (exit status %d)", s.ExitCode)
}

// The signals that an engine stops a container with, as Linux numbers them.
const (
	sigINT  = 2
	sigTERM = 15
)
