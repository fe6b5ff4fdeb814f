package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/agentform/agentform/internal/excerpt"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

const (
	// parallelExecs is how many commands are executed at once.
	parallelExecs = 16
	// parallelReads is how many logs are read at once.
	parallelReads = 32
	// execTimeout bounds a command without a timeout of its own.
	execTimeout = 30 * time.Second
	// outputLimit bounds the output of a command.
	outputLimit = 9 << 20
)

// streams are the standard streams of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
	terminal bool
	sizes    remotecommand.TerminalSizeQueue
}

// exec executes a command in the container of a pod. The error is an *exitError if the exit status
// is not 0, and session.ErrGone if the pod does not exist or its container is not running.
func (c *cluster) exec(ctx context.Context, pod string, argv []string, s streams) error {
	base, _, err := rest.DefaultServerUrlFor(c.config)
	if err != nil {
		return err
	}
	at := base.JoinPath("api/v1/namespaces", c.namespace, "pods", pod, "exec")
	query := url.Values{"container": {containerName}, "command": argv}
	for name, wanted := range map[string]bool{"stdin": s.in != nil, "stdout": s.out != nil, "stderr": s.err != nil && !s.terminal, "tty": s.terminal} {
		if wanted {
			query.Set(name, "true")
		}
	}
	at.RawQuery = query.Encode()
	websocket, err := remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, at.String())
	if err != nil {
		return err
	}
	spdy, err := remotecommand.NewSPDYExecutor(c.config, http.MethodPost, at)
	if err != nil {
		return err
	}
	x, err := remotecommand.NewFallbackExecutor(websocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return err
	}
	err = x.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: s.in, Stdout: s.out, Stderr: s.err, Tty: s.terminal, TerminalSizeQueue: s.sizes})
	var code utilexec.CodeExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &code):
		return &exitError{code.Code}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	// The kubelet's errors have no type: the pod shows whether it can run a command.
	if _, runs, unknown := containerRuns(ctx, c, pod); unknown == nil && !runs {
		return fmt.Errorf("kubernetes: pod %s: %w: it %w", pod, err, session.ErrGone)
	}
	return session.Unreachable(c.explain(err)) // the outcome of the command is unknown
}

// containerRuns returns a pod, and whether its container is running: not if there is no such pod.
func containerRuns(ctx context.Context, c *cluster, name string) (p pod, runs bool, err error) {
	err = c.get(ctx, pods, name, &p)
	if apierrors.IsNotFound(err) {
		return p, false, nil
	}
	return p, err == nil && p.running(), err
}

// An exitError is the exit status of a command in a pod.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// run executes a command and returns its output; the error contains its standard error.
func (r *Runtime) run(ctx context.Context, c *cluster, pod string, in io.Reader, argv ...string) (string, error) {
	if in == nil {
		in = strings.NewReader("")
	}
	out := excerpt.Tail{Limit: outputLimit}
	err := stream(ctx, r.slots, c, pod, in, &out, argv...)
	return out.String(), err
}

// errNotAsked means that a command was not executed, because others took all the time.
var errNotAsked = errors.New("too many commands run at once")

// stream executes a command in one of the slots; the error contains its standard error, or is errNotAsked.
func stream(ctx context.Context, slots chan struct{}, c *cluster, pod string, in io.Reader, out io.Writer, argv ...string) error {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errNotAsked, ctx.Err())
	}
	said := excerpt.Tail{Limit: 4 << 10}
	err := c.exec(ctx, pod, argv, streams{in: in, out: out, err: &said})
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, shim.OneLine(text, 500))
	}
	return err
}

// errNoProgram means that the program of the init is not on the volume.
var errNoProgram = errors.New("the volume has no program of agentform")

// ask sends one request to the init of a pod. The answer comes from inside the pod: it is a claim.
func (t target) ask(ctx context.Context, q shim.InitRequest, limit time.Duration) (shim.InitReply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("kubernetes: pod %s did not answer %q within %s", t.pod, q.Op, limit))
	defer cancel()
	line, err := requestLine(q)
	if err != nil {
		return shim.InitReply{}, err
	}
	text, err := t.runtime.run(ctx, t.cluster, t.pod, bytes.NewReader(line), t.record.Program, shim.RelayMode, shim.InitFolder+"/"+shim.InitSocket)
	var exit *exitError
	switch {
	case errors.As(err, &exit) && (exit.code == shim.ExitNotFound || exit.code == shim.ExitCannot), err != nil && strings.Contains(err.Error(), t.record.Program):
		return shim.InitReply{}, fmt.Errorf("%w: %w", errNoProgram, err)
	case err != nil:
		return shim.InitReply{}, err
	}
	return shim.ReadInitReply(q.Op, []byte(text))
}

// requestLine encodes a request to an init.
func requestLine(q shim.InitRequest) ([]byte, error) {
	line, err := json.Marshal(q)
	if err == nil && len(line) >= shim.InitLineLimit {
		err = fmt.Errorf("the request is longer than %d MiB", shim.InitLineLimit>>20)
	}
	return append(line, '\n'), err
}
