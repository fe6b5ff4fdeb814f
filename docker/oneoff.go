package docker

import (
	"cmp"
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
	defer context.AfterFunc(ctx, a.Close)()
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	ended, failed := c.ContainerWait(waiting, made.ID, container.WaitConditionNextExit)
	out := tail{limit: session.TailLimit}
	if err = c.ContainerStart(ctx, made.ID, container.StartOptions{}); err == nil {
		_, _ = stdcopy.StdCopy(&out, &out, a.Reader) // the output until an error counts
	} else {
		stop()
	}
	select { // its goroutine ends with this
	case e := <-ended:
		if err == nil && e.StatusCode != 0 {
			return out.String(), fmt.Errorf("exit status %d", e.StatusCode)
		}
	case failure := <-failed:
		err = cmp.Or(err, failure)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return out.String(), explain(err)
}

// printed returns the end of a container's output, for an error.
func printed(ctx context.Context, c engine, id string) string {
	logs, err := c.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: "5"})
	if err != nil {
		return ""
	}
	defer logs.Close()
	out := tail{limit: session.TailLimit}
	_, _ = stdcopy.StdCopy(&out, &out, io.LimitReader(logs, session.TailLimit))
	if text := strings.TrimSpace(out.String()); text != "" {
		return ": " + text
	}
	return ""
}
