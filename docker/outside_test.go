//go:build real

package docker_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// TestPausedBySomebody checks that a pause with the docker command is observed, and undone by every
// operation that needs the container.
func TestPausedBySomebody(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "paused")
	p := b.create(t, l)
	b.listening(t, p)
	b.docker(t, "pause", p.Name)
	if live, ok := b.see(t, p); !ok || !live.PlaceUp || !live.Frozen || live.Liveness != session.Alive {
		t.Errorf("there %v, up %v, frozen %v, %s %s", ok, live.PlaceUp, live.Frozen, live.Liveness, live.UnknownReason)
	}
	if err := b.runtime.Resume(t.Context(), p, l.Mark.Run); err != nil {
		t.Fatal(err)
	}
	b.send(t, p, "hello")
	b.hears(t, p, "hello")
	b.docker(t, "pause", p.Name)
	if err := b.runtime.Stop(t.Context(), p, l.Mark.Run, l.Stop); err != nil {
		t.Fatal(err)
	}
	if live, _ := b.see(t, p); live.Liveness != session.Dead || live.Frozen {
		t.Errorf("%s, frozen %v", live.Liveness, live.Frozen)
	}
	b.docker(t, "pause", p.Name)
	if err := b.runtime.Remove(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// TestRestartedBySomebody checks that after docker restart the session is gone, and that a restart
// without access to the secrets reuses the earlier ones.
func TestRestartedBySomebody(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "again")
	l.Secrets, l.Spec.Secrets = map[string]string{"TOKEN": "sesame"}, []string{"TOKEN"}
	p := b.create(t, l)
	b.listening(t, p)
	b.send(t, p, "exit 1")
	b.dies(t, p)
	next := b.launch(t, p.Name)
	next.Spec.Secrets = []string{"TOKEN"}
	if _, err := b.runtime.Restart(t.Context(), p, next); err != nil {
		t.Fatal(err)
	}
	b.listening(t, p)
	if !strings.Contains(b.state(t, p, "environ"), "\x00TOKEN=sesame\x00") {
		t.Error("the secret of the run before is not there")
	}
	b.docker(t, "restart", "-t", "5", p.Name)
	if live := b.dies(t, p); !live.PlaceUp {
		t.Errorf("the container is down: %s", live.UnknownReason)
	}
	b.restarts(t, p)
}

// TestUpgrade checks that a later agentform, with another shim program, restarts a session in an
// existing container.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "earlier"))
	b.send(t, p, "exit 1")
	b.dies(t, p)
	self, err := os.ReadFile(b.config.Shim[0])
	if err != nil {
		t.Fatal(err)
	}
	b.config.Shim = []string{filepath.Join(b.config.DataDir, "shim"), "shim"} // not seen in the container
	executable.Write(t, b.config.Shim[0], self, 0o700)
	b.runtime.Close()
	b.runtime = docker.New(b.config)
	b.restarts(t, p)
}

// TestBeside checks the hub's requests about a session next to the agent.
func TestBeside(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "beside")
	p := b.create(t, l)
	b.send(t, p, "say shown")
	ctx, run := t.Context(), l.Mark.Run
	if failed, err := b.runtime.Probe(ctx, p, run, []string{"sh", "-c", `[ "$IMAGE" = yes ]`}, 10*time.Second); err != nil || failed != "" {
		t.Errorf("a probe in the container: %q, %v", failed, err)
	}
	if failed, err := b.runtime.Probe(ctx, p, run, []string{"sh", "-c", "echo why >&2; exit 3"}, 10*time.Second); err != nil || failed != "exit status 3: why" {
		t.Errorf("a probe that fails: %q, %v", failed, err)
	}
	v, err := b.runtime.Verify(ctx, p, run, []string{"sh", "-c", `echo "$IMAGE"; exit 3`}, time.Minute)
	if err != nil || v.Failed != "exit status 3" || v.Code != 3 || v.Output != "yes" || v.Log == "" {
		t.Errorf("a verification: %+v, %v", v, err)
	}
	wait.For(t, "all is read", func() (any, bool) {
		n, err := b.runtime.Unread(ctx, p, run)
		if err != nil {
			t.Fatal(err)
		}
		return n, n == 0
	})
	wait.For(t, "the screen shows it", func() (any, bool) {
		lives, err := b.runtime.Observe(ctx, true)
		if err != nil {
			t.Fatal(err)
		}
		return lives, slices.ContainsFunc(lives, func(l session.Live) bool { return l.Location == p && strings.Contains(l.Screen, "shown") })
	})
	if err := b.runtime.SetTimeout(ctx, p, run, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if live := b.dies(t, p); live.Exit == nil || live.Exit.Cause != "timeout" {
		t.Errorf("exit %+v", live.Exit)
	}
	if err := b.runtime.SetTimeout(ctx, p, "0123456789abcdef", time.Second); err == nil {
		t.Error("the timeout of a run that is not there was set")
	}
}

// TestLinkedSocket checks that a link from a container's socket to another's does not redirect
// requests.
func TestLinkedSocket(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	other, p := b.create(t, b.launch(t, "other")), b.create(t, b.launch(t, "linking"))
	b.listening(t, other)
	b.listening(t, p)
	mine, theirs := b.initSocket(t, p), b.initSocket(t, other)
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(theirs, mine); err != nil {
		t.Fatal(err)
	}
	if l, _ := b.see(t, p); l.Liveness != session.Unknown {
		t.Errorf("it is %s by another's word", l.Liveness)
	}
	if err := b.runtime.Send(t.Context(), p, session.Input{Text: "for the wrong one"}); err == nil {
		t.Error("it was sent")
	}
	if heard := b.state(t, other, "heard"); heard != "" {
		t.Errorf("the other heard %q", heard)
	}
	l, _ := b.see(t, p)
	if err := b.runtime.Stop(t.Context(), p, l.Mark.Run, session.Stop{Signal: "SIGTERM"}); err != nil {
		t.Errorf("stop: %v", err)
	}
	if l, _ := b.see(t, other); l.Liveness != session.Alive {
		t.Errorf("the other is %s", l.Liveness)
	}
	if l, ok := b.see(t, p); ok && l.Liveness != session.Dead {
		t.Errorf("it is %s", l.Liveness)
	}
	if _, err := os.Stat(filepath.Dir(theirs)); err != nil {
		t.Error(err)
	}
}

// TestSuspended checks that an agent stopped by a signal is suspended until it is resumed, and that
// a paused one is not.
func TestSuspended(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "suspended")
	p := b.create(t, l)
	b.listening(t, p)
	live, _ := b.see(t, p)
	b.docker(t, "exec", p.Name, "sh", "-c", fmt.Sprintf("kill -STOP %d", live.Agent.PID))
	// A process stops only when it is next scheduled.
	wait.For(t, "it is stopped", func() (any, bool) { live, _ = b.see(t, p); return live, live.Frozen })
	if !live.Suspended || live.InputOff || live.Liveness != session.Alive {
		t.Errorf("stopped: %+v", live)
	}
	if err := b.runtime.Resume(t.Context(), p, l.Mark.Run); err != nil {
		t.Fatal(err)
	}
	if live, _ := b.see(t, p); live.Frozen || live.Suspended {
		t.Errorf("continued: %+v", live)
	}
	if err := b.runtime.Pause(t.Context(), p, l.Mark.Run, session.Freeze); err != nil {
		t.Fatal(err)
	}
	if live, _ := b.see(t, p); !live.Frozen || live.Suspended {
		t.Errorf("paused: %+v", live)
	}
}

// TestEndedAndStillListed checks that a container that has ended counts as ended while the engine
// still lists it as running or paused.
func TestEndedAndStillListed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.config.Host = "unix://" + filepath.Join(b.root, "late")
	b.runtime.Close()
	b.runtime = docker.New(b.config)
	listed := lateList(t, b.config.Host)
	p := b.create(t, b.launch(t, "ended"))
	b.listening(t, p)
	b.docker(t, "kill", p.Name)
	for _, state := range []string{"running", "paused"} {
		listed.Store(&state)
		if l, ok := b.see(t, p); !ok || l.PlaceUp || l.Frozen || l.Liveness != session.Dead || l.UnknownReason != "the container was killed (SIGKILL)" {
			t.Errorf("listed as %s: up %v, frozen %v, %s: %q", state, l.PlaceUp, l.Frozen, l.Liveness, l.UnknownReason)
		}
	}
}

// lateList serves the engine at a socket, with a list of containers that always have the stored
// state.
func lateList(t *testing.T, host string) *atomic.Pointer[string] {
	t.Helper()
	at, err := dockertest.Docker(nil, "context", "inspect", "-f", "{{.Endpoints.docker.Host}}")
	if err != nil {
		t.Fatal(err)
	}
	var state atomic.Pointer[string]
	engine := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(at, "unix://"))
	}}
	s := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "docker" },
		Transport: engine,
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasSuffix(r.Request.URL.Path, "/containers/json") || state.Load() == nil {
				return nil
			}
			text, err := io.ReadAll(r.Body)
			text = regexp.MustCompile(`"State":"\w+"`).ReplaceAll(text, []byte(`"State":"`+*state.Load()+`"`))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return err
		},
	})
	s.Listener.Close()
	if s.Listener, err = net.Listen("unix", strings.TrimPrefix(host, "unix://")); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Close(); engine.CloseIdleConnections() })
	return &state
}
