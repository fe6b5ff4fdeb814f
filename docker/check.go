package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/containerd/errdefs"

	"github.com/agentform/agentform/session"
)

// Check says, before anything is made, why a session with that command line could
// not be started: no engine, no image, one of another machine, without tmux or git
// or the command; a mount of what is not there; a user to whom nothing can be given.
// What an image lacks is tried in a container, once for each image and command.
func (r *Runtime) Check(ctx context.Context, s session.Spec, argv []string) error {
	d := s.Runtime.Docker
	if d == nil {
		return errors.New("docker: the session has no settings")
	}
	var errs []error
	for _, m := range d.Mounts {
		if _, err := os.Stat(m.Source); err != nil {
			errs = append(errs, fmt.Errorf("mount %s: %w", m.Target, err))
		}
	}
	if of, err := ownerOf(d); err != nil {
		errs = append(errs, err)
	} else if os.Geteuid() != 0 && of.uid != os.Geteuid() {
		errs = append(errs, fmt.Errorf("docker: user %s of the container is not you (%d), and only root can give it the workspace: leave user out", d.User, os.Geteuid()))
	}
	return errors.Join(append(errs, r.image(ctx, s, argv))...)
}

// ImageError says that an image is not on the engine's machine.
type ImageError struct{ Image string }

// Error says how to get it.
func (e *ImageError) Error() string {
	return fmt.Sprintf("docker: there is no image %s on this machine, and agentform pulls none: docker pull %s, or docker build -t %s FOLDER", e.Image, e.Image, e.Image)
}

// Short is the same.
func (e *ImageError) Short() string { return e.Error() }

// CheckImage returns an *ImageError if the image of a runtime is not there. It starts
// nothing. Any other error says that the engine could not be asked.
func CheckImage(ctx context.Context, r *Runtime, image string) error {
	c, err := r.engine()
	if err != nil {
		return err
	}
	if _, err := c.ImageInspect(ctx, image); errdefs.IsNotFound(err) {
		return &ImageError{image}
	} else if err != nil {
		return explain(err)
	}
	return nil
}

// image checks the image of a session.
func (r *Runtime) image(ctx context.Context, s session.Spec, argv []string) error {
	c, err := r.engine()
	if err != nil {
		return err
	}
	name := s.Runtime.Docker.Image
	i, err := c.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		return &ImageError{name}
	}
	if err != nil {
		return explain(err)
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
	return r.has(ctx, s, i.ID, needs)
}

// has tries whether the commands are in the image, with the environment that the
// agent will have.
func (r *Runtime) has(ctx context.Context, s session.Spec, image string, commands []string) error {
	key := image + " " + strings.Join(commands, " ") + " " + s.Agent.Env["PATH"] + " " + s.Env["PATH"] + " " + s.Runtime.Docker.Env["PATH"]
	for _, m := range s.Runtime.Docker.Mounts { // a command may be mounted
		key += " " + m.Source + ":" + m.Target
	}
	r.trying.Lock()
	defer r.trying.Unlock()
	if err, known := r.tried[key]; known {
		return err
	}
	var env []string
	for _, layer := range []map[string]string{s.Runtime.Docker.Env, s.Agent.Env, s.Env} {
		if path, own := layer["PATH"]; own {
			env = []string{"PATH=" + path}
		}
	}
	script := `for c; do command -v "$c" >/dev/null || echo "$c"; done`
	out, err := r.once(ctx, s, "", append([]string{"sh", "-c", script, "sh"}, commands...), env)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && strings.Contains(err.Error(), `"sh"`):
		err = fmt.Errorf("docker: image %s has no shell", s.Runtime.Docker.Image)
	case err != nil: // the engine's matter: the next time it may be another
		return fmt.Errorf("docker: try image %s: %w", s.Runtime.Docker.Image, err)
	case strings.TrimSpace(out) != "":
		err = fmt.Errorf("docker: image %s has no %s: a session needs it there", s.Runtime.Docker.Image, strings.Join(strings.Fields(out), " and no "))
	}
	r.tried[key] = err
	return err
}
