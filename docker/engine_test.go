//go:build real

package docker_test

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// way is a connection to the real engine that can be cut.
type way struct {
	path string
	to   string

	mu    sync.Mutex
	on    net.Listener
	conns []net.Conn
	wg    sync.WaitGroup
}

func newWay(t *testing.T, path string) *way {
	t.Helper()
	host, err := dockertest.Docker(nil, "context", "inspect", "-f", "{{.Endpoints.docker.Host}}")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{path: path, to: strings.TrimPrefix(host, "unix://")}
	w.open(t)
	t.Cleanup(w.cut)
	return w
}

func (w *way) open(t *testing.T) {
	t.Helper()
	l, err := net.Listen("unix", w.path)
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.on = l
	w.mu.Unlock()
	w.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e, err := net.Dial("unix", w.to)
			if err != nil {
				c.Close()
				continue
			}
			w.mu.Lock()
			if w.on != l { // cut meanwhile
				c.Close()
				e.Close()
			}
			w.conns = append(w.conns, c, e)
			w.mu.Unlock()
			pass := func(to, from net.Conn) {
				_, _ = io.Copy(to, from) // ends when either side is cut
				to.Close()
				from.Close()
			}
			w.wg.Go(func() { pass(c, e) })
			w.wg.Go(func() { pass(e, c) })
		}
	})
}

// cut closes the way and all its connections.
func (w *way) cut() {
	w.mu.Lock()
	if w.on != nil {
		w.on.Close()
		w.on = nil
	}
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
	w.mu.Unlock()
	w.wg.Wait()
}

// TestEngineGoesAndComesBack checks that an unreachable engine is an error and not an absence, and
// that the same runtime works once it is back.
func TestEngineGoesAndComesBack(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := newWay(t, filepath.Join(b.root, "engine"))
	b.config.Host = "unix://" + w.path
	b.runtime = docker.New(b.config)
	p := b.create(t, b.launch(t, "lasting"))
	b.listening(t, p)
	before, _ := b.see(t, p)
	w.cut()
	if lives, err := b.runtime.Observe(t.Context(), false); err == nil || lives != nil || !strings.Contains(err.Error(), "no daemon answers") {
		t.Errorf("without an engine: %v, %v", lives, err)
	}
	ctx, run := t.Context(), before.Mark.Run
	for what, err := range map[string]error{
		"stop":   b.runtime.Stop(ctx, p, run, session.Stop{Signal: "SIGTERM"}),
		"remove": b.runtime.Remove(ctx, p),
		"pause":  b.runtime.Pause(ctx, p, run, session.Detach),
	} {
		if err == nil {
			t.Errorf("%s: said to be done without an engine", what)
		}
	}
	w.open(t)
	after, ok := b.see(t, p)
	if !ok || after.Agent != before.Agent || after.Mark != before.Mark || after.Liveness != session.Alive || after.InputOff {
		t.Errorf("there %v, %+v; want %+v", ok, after, before)
	}
}

// Listeners learn that the engine went.
func TestEventsEndWithTheEngine(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := newWay(t, filepath.Join(b.root, "engine"))
	b.config.Host = "unix://" + w.path
	b.runtime = docker.New(b.config)
	happened, ended := make(chan struct{}, 1000), make(chan error, 1)
	go func() { ended <- b.runtime.Events(t.Context(), func() { happened <- struct{}{} }) }()
	p := b.create(t, b.launch(t, "eventful"))
	wait.For(t, "a listener gets the event", func() (any, bool) { // a listener may start at any time
		select {
		case <-happened:
			return nil, true
		case err := <-ended:
			t.Fatalf("the events ended: %v", err)
		default:
		}
		b.docker(t, "restart", "-t", "0", p.Name)
		return "nothing", false
	})
	w.cut()
	if err := wait.Receive(t, "the end of the engine is told", ended); err == nil {
		t.Error("the engine went, and that is no error")
	}
}
