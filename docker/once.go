package docker

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/agentform/agentform/session"
)

// Run runs a command as the session's agent would be run, in a container of its own
// that is gone when it returns. It returns the end of what that printed.
func (r *Runtime) Run(ctx context.Context, s session.Spec, dir string, argv, env []string) (string, error) {
	// A user whom the image does not know has / for a home.
	homed := append([]string{"sh", "-c", `[ "$HOME" != / ] || export HOME=/tmp; exec "$@"`, "sh"}, argv...)
	return r.once(ctx, s, dir, homed, env)
}

// once is Run; without a dir nothing of the session is mounted but what its manifest
// mounts.
func (r *Runtime) once(ctx context.Context, s session.Spec, dir string, argv, env []string) (output string, err error) {
	c, err := r.engine()
	if err != nil {
		return "", err
	}
	of, err := ownerOf(s.Runtime.Docker)
	if err != nil {
		return "", err
	}
	config, host := r.settings(s, dir, of)
	if dir == "" {
		host.NetworkMode = "none"
	}
	config.Entrypoint, config.Env = argv, env
	config.Labels[labelOnce] = "1"
	// The engine goes on with what it was told whatever becomes of who told it, so
	// that what it made has to be known.
	making, enough := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer enough()
	// By its name it is found again when the answer is lost, and the engine itself removes
	// it when it ends: nobody may be there to do so.
	name := "agentform-once-" + strings.ToLower(rand.Text())
	host.AutoRemove = true
	var made container.CreateResponse
	defer func() {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if left := discard(undo, c, name); made.ID != "" { // else what failed is said already
			err = errors.Join(err, explain(left))
		}
	}()
	made, err = c.ContainerCreate(making, config, host, nil, nil, name)
	if err != nil {
		return "", explain(err)
	}
	a, err := c.ContainerAttach(ctx, made.ID, container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		return "", explain(err)
	}
	defer a.Close()
	heard := false
	waiting, stop := context.WithCancel(ctx)
	ended, failed := c.ContainerWait(waiting, made.ID, container.WaitConditionNextExit)
	defer func() { // whoever waits for the end is waited for
		stop()
		if !heard {
			select {
			case <-ended:
			case err := <-failed:
				_ = err // it was told to stop
			}
		}
	}()
	if err := c.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		return "", explain(err)
	}
	var out tail
	printed := make(chan struct{})
	go func() {
		_, _ = stdcopy.StdCopy(&out, &out, a.Reader) // what came until then is what there is
		close(printed)
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case err := <-failed:
		heard = true
		return "", explain(err)
	case e := <-ended:
		heard = true
		select {
		case <-printed:
		case <-ctx.Done():
			return "", ctx.Err() // out is being written to
		}
		if e.StatusCode != 0 {
			err = fmt.Errorf("exit status %d", e.StatusCode)
		}
		return out.String(), err
	}
}

// discardTries is how often a container is asked to go: the engine may be removing it.
const discardTries = 20

// discard removes a container, if there is one of that name, and returns when it is gone.
func discard(ctx context.Context, c engine, name string) error {
	for n := 1; ; n++ {
		err := c.ContainerRemove(ctx, name, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case errdefs.IsNotFound(err):
			return nil
		case client.IsErrConnectionFailed(err):
			return err
		case err != nil && (n == discardTries || sleep(ctx, 100*time.Millisecond) != nil):
			return fmt.Errorf("remove container %s: %w", name, err)
		}
	}
}

// tail keeps the last session.TailLimit bytes of what is written to it.
type tail struct{ kept bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.kept.Write(p)
	if over := t.kept.Len() - session.TailLimit; over > 0 {
		t.kept.Next(over)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.ToValidUTF8(t.kept.String(), "") }

// printed is the end of what a container printed, for an error.
func (r *Runtime) printed(ctx context.Context, p session.Place) string {
	c, err := r.engine()
	if err != nil {
		return ""
	}
	logs, err := c.ContainerLogs(ctx, p.Container, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "5"})
	if err != nil {
		return ""
	}
	defer logs.Close()
	var out tail
	_, _ = stdcopy.StdCopy(&out, &out, io.LimitReader(logs, session.TailLimit)) // what there is of it
	if text := strings.TrimSpace(out.String()); text != "" {
		return ": " + text
	}
	return ""
}
