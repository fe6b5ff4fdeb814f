package docker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
)

type engine = *client.Client

// explain adds a remedy to an error of the engine.
func explain(err error) error {
	var dialing *net.OpError
	var asking *url.Error
	if err == nil {
		return nil
	}
	if far := explainElsewhere(err); far != nil {
		return session.Unreachable(far)
	}
	switch {
	case errors.As(err, &dialing) && errors.Is(dialing, fs.ErrPermission):
		return fmt.Errorf("docker: no permission to use the engine: %w (add yourself to the group docker: sudo usermod -aG docker $USER, and log in again)", dialing)
	case client.IsErrConnectionFailed(err):
		return session.Unreachable(fmt.Errorf("docker: no daemon answers: %w (sudo systemctl start docker)", err))
	case errors.As(err, &asking):
		return session.Unreachable(fmt.Errorf("docker: request to the engine: %w", asking.Err))
	}
	return fmt.Errorf("docker: %w", err)
}

// inspect returns a container by its id or name. The error is session.ErrGone if it does not exist.
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
		if !sleep.For(ctx, wait) { // conflict: the engine is removing it
			return errors.Join(fmt.Errorf("container %s still exists: %w", name, ctx.Err()), explain(err))
		}
	}
}

const removeTries = 20

// answerTimeout bounds the wait for the start of an answer: an engine that is suspended, or whose
// disk hangs, still accepts connections. Removing a container with much data takes minutes.
const answerTimeout = 5 * time.Minute

// newClient returns a client of an engine, whose requests fail if it does not answer.
func newClient(options ...client.Opt) (engine, error) {
	transport := &http.Transport{ResponseHeaderTimeout: answerTimeout}
	given := client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect})
	c, err := client.NewClientWithOpts(append([]client.Opt{given, client.WithHost(client.DefaultDockerHost)}, options...)...)
	if err != nil {
		return nil, err
	}
	if dial := transport.DialContext; dial != nil { // the streams of commands use it without the transport
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &answering{Conn: conn}, nil
		}
	}
	return c, nil
}

// answering is a connection whose first answer has to begin within answerTimeout.
type answering struct {
	net.Conn
	begun atomic.Bool
}

func (c *answering) Read(p []byte) (int, error) {
	if c.begun.Load() {
		return c.Conn.Read(p)
	}
	if err := c.SetReadDeadline(time.Now().Add(answerTimeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if n == 0 || c.begun.Swap(true) {
		return n, err
	}
	if endless := c.SetReadDeadline(time.Time{}); err == nil {
		err = endless
	}
	return n, err
}

// CloseWrite says that nothing more is written, as to the standard input of a command.
func (c *answering) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// connect connects to the engine of a URL or a context; without one to the engine that
// the docker command would use.
func connect(of Config) (engine, error) {
	if of.elsewhere() {
		return connectElsewhere(of)
	}
	host := of.Host
	config := cmp.Or(os.Getenv("DOCKER_CONFIG"), filepath.Join(os.Getenv("HOME"), ".docker"))
	if host == "" && os.Getenv("DOCKER_HOST") == "" {
		host = currentContext(config)
	}
	options := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if host != "" && !strings.Contains(host, "://") {
		url, err := contextHost(config, host)
		if err != nil {
			return nil, err
		}
		host = url
	}
	if host != "" {
		options = append(options, client.WithHost(host))
	}
	c, err := newClient(options...)
	if err != nil {
		return nil, fmt.Errorf("docker: engine %q: %w", cmp.Or(host, os.Getenv("DOCKER_HOST")), err)
	}
	if !strings.HasPrefix(c.DaemonHost(), "unix://") {
		return nil, errors.Join(fmt.Errorf("docker: the engine %s has no socket on this machine, so its containers could not mount the workspaces, which are here: write host = \"%[1]s\" in the runtime block, or run agentform on the engine's machine (a context or DOCKER_HOST that starts with unix://)", c.DaemonHost()), c.Close())
	}
	return c, nil
}

// currentContext returns the context that the docker command uses; nothing if it is the
// default one.
func currentContext(config string) string {
	name := os.Getenv("DOCKER_CONTEXT")
	if name == "" {
		var settings struct {
			CurrentContext string `json:"currentContext"`
		}
		text, err := os.ReadFile(filepath.Join(config, "config.json"))
		if err == nil && json.Unmarshal(text, &settings) == nil {
			name = settings.CurrentContext
		}
	}
	if name == defaultContext {
		return ""
	}
	return name
}

const defaultContext = "default"

func contextHost(config, name string) (string, error) {
	if name == defaultContext {
		return client.DefaultDockerHost, nil
	}
	sum := sha256.Sum256([]byte(name))
	text, err := os.ReadFile(filepath.Join(config, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json"))
	if err != nil {
		return "", fmt.Errorf("docker: no context %q (docker context ls lists them): %w", name, err)
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return "", fmt.Errorf("docker: context %q: %w", name, err)
	}
	host := meta.Endpoints["docker"].Host
	if host == "" {
		return "", fmt.Errorf("docker: context %q names no engine", name)
	}
	return host, nil
}
