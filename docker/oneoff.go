package docker

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// Run runs a command as the session's agent would be run, in a container of its own that
// is removed before Run returns. It returns the end of the command's output.
func (r *Runtime) Run(ctx context.Context, s session.Spec, dir string, argv, env []string) (string, error) {
	// The home of a user that the image does not know is /.
	homed := append([]string{"sh", "-c", `[ "$HOME" != / ] || export HOME=/tmp; exec "$@"`, "sh"}, argv...)
	c, err := r.engine()
	if err != nil {
		return "", err
	}
	return r.config.runOneOff(ctx, c, s, dir, homed, env)
}

// runOneOff runs a command in a container of its own. Without a dir nothing is mounted
// but what the manifest mounts.
func (of Config) runOneOff(ctx context.Context, c engine, s session.Spec, dir string, argv, env []string) (output string, err error) {
	user, err := git.OwnerOf(s.Runtime.Docker)
	if err != nil {
		return "", err
	}
	config, host := of.settings(s, dir, user)
	if dir == "" {
		host.NetworkMode = "none"
	}
	config.Entrypoint, config.Env = argv, env
	config.Labels[labelOneOff] = "1"
	making, cancel := detached(ctx)
	defer cancel()
	// The name finds the container if the answer is lost. The engine removes it when it
	// ends, also if agentform was killed.
	name := "agentform-once-" + strings.ToLower(rand.Text())
	host.AutoRemove = true
	var made container.CreateResponse
	defer func() {
		undo, cancel := detached(ctx)
		defer cancel()
		if left := remove(undo, c, name); made.ID != "" { // else it failed already
			err = errors.Join(err, left)
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
	waiting, stop := context.WithCancel(ctx)
	ended, failed := c.ContainerWait(waiting, made.ID, container.WaitConditionNextExit)
	answered := false
	defer func() {
		stop()
		if !answered { // ends the goroutine of ContainerWait
			select {
			case <-ended:
			case err := <-failed:
				_ = err // of stop
			}
		}
	}()
	if err := c.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		return "", explain(err)
	}
	var out tail
	copied := make(chan struct{})
	go func() {
		_, _ = stdcopy.StdCopy(&out, &out, a.Reader) // the output until an error counts
		close(copied)
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case err := <-failed:
		answered = true
		return "", explain(err)
	case e := <-ended:
		answered = true
		select {
		case <-copied:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if e.StatusCode != 0 {
			err = fmt.Errorf("exit status %d", e.StatusCode)
		}
		return out.String(), err
	}
}

// tail keeps the last session.TailLimit bytes that are written to it.
type tail struct{ kept bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.kept.Write(p)
	if over := t.kept.Len() - session.TailLimit; over > 0 {
		t.kept.Next(over)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.ToValidUTF8(t.kept.String(), "") }

// printed returns the end of a container's output, for an error.
func printed(ctx context.Context, c engine, id string) string {
	logs, err := c.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "5"})
	if err != nil {
		return ""
	}
	defer logs.Close()
	var out tail
	_, _ = stdcopy.StdCopy(&out, &out, io.LimitReader(logs, session.TailLimit))
	if text := strings.TrimSpace(out.String()); text != "" {
		return ": " + text
	}
	return ""
}
