package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

// engine is the part of a Docker engine's API that the package uses.
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

// explain adds to an error of the engine how to fix it.
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
		return fmt.Errorf("docker: ask the engine: %w", asking.Err)
	}
	return fmt.Errorf("docker: %w", err)
}

// inspect returns a container by its id or name. The error is session.ErrGone if there is
// none.
func inspect(ctx context.Context, c engine, name string) (container.InspectResponse, error) {
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
		return i, errors.New("docker: the engine reports nothing about the container")
	}
	return i, nil
}

// stopReason returns why a container does not run.
func stopReason(s *container.State) string {
	switch {
	case s.Error != "":
		return "the container could not be started: " + s.Error
	case s.OOMKilled:
		return "the container was killed: out of memory"
	case s.Status == container.StateCreated:
		return "the container was never started"
	case s.ExitCode == 128+int(syscall.SIGINT) || s.ExitCode == 128+int(syscall.SIGTERM):
		return "the container was stopped"
	case s.ExitCode > 128:
		return fmt.Sprintf("the container was killed (%s)", proc.SignalName(syscall.Signal(s.ExitCode-128)))
	}
	return fmt.Sprintf("the container ended (exit status %d)", s.ExitCode)
}

// remove removes a container and returns when the engine has none of that name.
func remove(ctx context.Context, c engine, name string) error {
	for tries, wait := 0, time.Millisecond; ; tries, wait = tries+1, min(2*wait, 100*time.Millisecond) {
		err := c.ContainerRemove(ctx, name, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case errdefs.IsNotFound(err):
			return nil
		case client.IsErrConnectionFailed(err), err != nil && !errdefs.IsConflict(err) && tries == removeTries:
			return explain(err)
		}
		if ended := sleep(ctx, wait); ended != nil { // conflict: the engine is removing it
			return errors.Join(fmt.Errorf("container %s still exists: %w", name, ended), explain(err))
		}
	}
}

// removeTries is how often an engine that fails to remove a container is asked again.
const removeTries = 20
