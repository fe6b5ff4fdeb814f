package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/docker/docker/api/types/container"
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
	made, err := c.ContainerCreate(making, config, host, nil, nil, "")
	if err != nil {
		return "", explain(err)
	}
	defer func() {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		err = errors.Join(err, explain(c.ContainerRemove(undo, made.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})))
	}()
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
