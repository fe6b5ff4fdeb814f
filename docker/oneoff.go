package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/excerpt"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Check returns why a session with the command line argv could not be started, before anything is
// created. It runs a container to check that an image has the required programs, once for each
// image and command.
func (r *Runtime) Check(ctx context.Context, s session.Spec, argv []string) error {
	d := s.Runtime.Docker
	if d == nil {
		return errors.New("docker: the session has no settings")
	}
	var errs []error
	for _, m := range d.Mounts {
		if r.config.elsewhere() {
			break // these are paths on the engine's machine, which reports errors
		}
		if _, err := os.Stat(m.Source); err != nil {
			errs = append(errs, fmt.Errorf("mount %s: %w", m.Target, err))
		}
	}
	if of, err := git.OwnerOf(d); err != nil {
		errs = append(errs, err)
	} else if !r.config.elsewhere() && os.Geteuid() != 0 && of.UID != os.Geteuid() {
		errs = append(errs, fmt.Errorf("docker: user %s of the container is not you (%d), and only root can give it the workspace: omit user", d.User, os.Geteuid()))
	}
	c, err := r.engine()
	if err == nil {
		err = r.images.check(ctx, c, r.commands, s, argv)
	}
	return errors.Join(append(errs, err)...)
}

// An ImageError reports that an image is not on the engine's machine.
type ImageError struct {
	Image  string
	client string // the docker command for the engine
}

// Error returns the problem and how to get the image.
func (e *ImageError) Error() string {
	return fmt.Sprintf("docker: the engine has no image %s, and agentform does not pull images: %s pull %[1]s, or %[2]s build -t %[1]s DIRECTORY", e.Image, e.client)
}

// Short returns Error.
func (e *ImageError) Short() string { return e.Error() }

// CheckImage returns an *ImageError if the runtime's engine does not have an image.
func CheckImage(ctx context.Context, r *Runtime, image string) error {
	c, err := r.engine()
	if err == nil {
		_, err = r.config.inspectImage(ctx, c, image)
	}
	return err
}

func (of Config) inspectImage(ctx context.Context, c engine, name string) (image.InspectResponse, error) {
	i, err := c.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		return i, &ImageError{name, plaintext.ShellWords(of.client()...)}
	}
	return i, explain(err)
}

// images remembers which images have which commands.
type images struct {
	mu    sync.Mutex
	tried map[string]error // by image and command
}

func (m *images) check(ctx context.Context, c engine, in *commands, s session.Spec, argv []string) error {
	name := s.Runtime.Docker.Image
	i, err := in.config.inspectImage(ctx, c, name)
	if err != nil {
		return err
	}
	server, err := c.ServerVersion(ctx)
	if err != nil {
		return explain(err)
	}
	if i.Os != server.Os || i.Architecture != server.Arch {
		return fmt.Errorf("docker: image %s is for %s/%s, and the engine runs %s/%s: build it for that (docker build --platform %s/%s)",
			name, i.Os, i.Architecture, server.Os, server.Arch, server.Os, server.Arch)
	}
	needs := []string{"tmux"}
	if s.Workspace.Mode != session.Plain {
		needs = append(needs, "git")
	}
	if len(argv) > 0 && !strings.Contains(argv[0], "/") {
		needs = append(needs, argv[0])
	}
	if in.config.elsewhere() {
		if _, err := in.config.shimFor(server.Os, server.Arch); err != nil {
			return err
		}
	}
	return m.find(ctx, c, in, s, i.ID, needs)
}

// find returns an error if an image lacks commands, searched with the agent's PATH.
func (m *images) find(ctx context.Context, c engine, in *commands, s session.Spec, id string, commands []string) error {
	var env []string
	for _, layer := range []map[string]string{s.Runtime.Docker.Env, s.Agent.Env, s.Env} {
		if path, own := layer["PATH"]; own {
			env = []string{"PATH=" + path}
		}
	}
	key := fmt.Sprint(id, commands, env, s.Runtime.Docker.Mounts) // a command may be mounted
	m.mu.Lock()
	defer m.mu.Unlock()
	if err, known := m.tried[key]; known {
		return err
	}
	script := `for c; do command -v "$c" >/dev/null || echo "$c"; done`
	out, err := in.run(ctx, c, s, "", append([]string{"sh", "-c", script, "sh"}, commands...), env)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && strings.Contains(err.Error(), `"sh"`):
		err = fmt.Errorf("docker: image %s has no shell", s.Runtime.Docker.Image)
	case err != nil: // not because of the image, so the next call tries again
		return fmt.Errorf("docker: try image %s: %w", s.Runtime.Docker.Image, err)
	case strings.TrimSpace(out) != "":
		err = fmt.Errorf("docker: image %s has no %s: a session needs it there", s.Runtime.Docker.Image, strings.Join(strings.Fields(out), " and no "))
	}
	m.tried[key] = err
	return err
}

// Run runs a command like the session's agent, in its own container, which is removed before Run
// returns. It returns the end of the command's output.
func (r *Runtime) Run(ctx context.Context, s session.Spec, dir string, argv, env []string) (string, error) {
	if r.config.elsewhere() {
		argv = contained.InDir(dir, argv...)
	}
	c, err := r.engine()
	if err != nil {
		return "", err
	}
	return r.commands.run(ctx, c, s, dir, homed(argv), env)
}

// run runs a command. Without a dir only the manifest's mounts are mounted.
func (m *commands) run(ctx context.Context, c engine, s session.Spec, dir string, argv, env []string) (output string, err error) {
	user, err := git.OwnerOf(s.Runtime.Docker)
	if err != nil {
		return "", err
	}
	config, host := m.config.settings(s, dir, user)
	if dir == "" {
		host.NetworkMode = "none"
	}
	config.Entrypoint, config.Env = argv, env
	out := excerpt.Tail{Limit: session.TailLimit}
	err = m.within(ctx, c, config, host, func(id string) error {
		a, err := c.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
		if err != nil {
			return explain(err)
		}
		defer a.Close()
		defer context.AfterFunc(ctx, a.Close)()
		waiting, stop := context.WithCancel(ctx)
		defer stop()
		ended, failed := c.ContainerWait(waiting, id, container.WaitConditionNextExit)
		if err = c.ContainerStart(ctx, id, container.StartOptions{}); err == nil {
			_, _ = stdcopy.StdCopy(&out, &out, a.Reader) // any output before an error is used
		} else {
			stop()
		}
		select { // its goroutine ends with this
		case e := <-ended:
			if err == nil && e.StatusCode != 0 {
				return fmt.Errorf("exit status %d", e.StatusCode)
			}
		case failure := <-failed:
			err = cmp.Or(err, failure)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return explain(err)
	})
	return out.String(), err
}

func printed(ctx context.Context, c engine, id string) string {
	logs, err := c.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "5"})
	if err != nil {
		return ""
	}
	defer logs.Close()
	out := excerpt.Tail{Limit: session.TailLimit}
	_, _ = stdcopy.StdCopy(&out, &out, io.LimitReader(logs, session.TailLimit))
	if text := strings.TrimSpace(out.String()); text != "" {
		return ": " + text
	}
	return ""
}
