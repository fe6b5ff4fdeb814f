//go:build real

package docker_test

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/session"
)

// rounds is a proxy of an engine elsewhere that counts round trips. It holds answers back until
// every request has one and the program waits for nothing else, then forwards them all. A later
// request starts another round.
type rounds struct {
	listener net.Listener
	mu       sync.Mutex
	quiet    int               // ticks without traffic
	asked    map[net.Conn]bool // connections with a request that the engine has not answered
	held     []func()
	count    int
	done     chan struct{}
}

// ticks is how many ticks without traffic or running code end a round.
const ticks = 25

// newRounds returns a proxy. With a delay it counts nothing, and delays all traffic in both
// directions.
func newRounds(t *testing.T, f *dockertest.Far, delay time.Duration) *rounds {
	t.Helper()
	file := func(name string) string { return filepath.Join(f.Certs, name) }
	load := func(cert, key string) tls.Certificate {
		c, err := tls.LoadX509KeyPair(file(cert), file(key))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{load("server.pem", "server-key.pem")}})
	if err != nil {
		t.Fatal(err)
	}
	p := &rounds{listener: l, asked: map[net.Conn]bool{}, done: make(chan struct{})}
	upstream := &tls.Config{Certificates: []tls.Certificate{load("cert.pem", "key.pem")}, InsecureSkipVerify: true}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := tls.Dial("tcp", f.Address, upstream)
			if err != nil {
				near.Close()
				continue
			}
			late := func(do func()) {
				time.Sleep(delay)
				do()
			}
			back := p.hold
			if delay > 0 {
				back = late
			}
			all.Go(func() { p.copy(far, near, true, late) })
			all.Go(func() { p.copy(near, far, false, back) })
		}
	})
	all.Go(p.release)
	t.Cleanup(func() {
		l.Close()
		close(p.done)
		all.Wait()
	})
	return p
}

// copy forwards requests or answers until an end is closed; when decides the time of each part.
func (p *rounds) copy(to, from net.Conn, asks bool, when func(func())) {
	engine := from
	if asks {
		engine = to
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		part := append([]byte(nil), buffer[:n]...)
		p.mu.Lock()
		p.quiet = 0
		p.asked[engine] = asks && err == nil
		p.mu.Unlock()
		when(func() {
			if len(part) > 0 {
				_, _ = to.Write(part)
			}
			if err != nil {
				to.Close()
			}
		})
		if err != nil {
			return
		}
	}
}

func (p *rounds) hold(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = append(p.held, do)
}

func (p *rounds) release() {
	for {
		select {
		case <-p.done:
			p.mu.Lock()
			defer p.mu.Unlock()
			p.passOn()
			return
		case <-time.After(20 * time.Millisecond):
		}
		p.mu.Lock()
		owes := slices.Contains(slices.Collect(maps.Values(p.asked)), true)
		if p.quiet++; owes || !idle() {
			p.quiet = 0
		}
		if len(p.held) > 0 && p.quiet > ticks {
			p.passOn()
			p.quiet = 0
			p.count++
		}
		p.mu.Unlock()
	}
}

func (p *rounds) passOn() {
	for _, do := range p.held {
		do()
	}
	p.held = nil
}

// idle reports whether every goroutine but the caller waits. A client that is slow on a busy
// machine is not idle.
func idle() bool {
	s := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/running:goroutines"}}
	metrics.Read(s)
	return s[0].Value.Uint64() == 0 && s[1].Value.Uint64() <= 1
}

// TestRoundTrips checks that a plan of twenty sessions takes at most five round trips, however far
// away the engine is.
func TestRoundTrips(t *testing.T) {
	const sessions, most = 20, 5
	b := newFarBed(t, byTLS)
	f, err := far()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i := range sessions {
		l := b.farLaunch(t, fmt.Sprintf("app-r%d-000000", i))
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if _, err := b.runtime.Create(t.Context(), l); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	plan := func(c docker.Config) time.Duration {
		began := time.Now()
		r := docker.New(c)
		defer r.Close()
		var both sync.WaitGroup
		both.Go(func() {
			lives, err := r.Observe(t.Context(), false)
			alive := 0
			for _, l := range lives {
				if !l.Foreign && l.Liveness == session.Alive && l.Checkout == nil {
					alive++
				}
			}
			if err != nil || alive != sessions {
				t.Errorf("%d sessions are alive, want %d: %v", alive, sessions, err)
			}
		})
		both.Go(func() {
			if held, err := r.Workspaces(t.Context()); err != nil || len(held) != sessions {
				t.Errorf("%d workspaces, want %d: %v", len(held), sessions, err)
			}
		})
		both.Wait()
		return time.Since(began)
	}
	near := plan(b.config)
	by := func(p *rounds) docker.Config {
		c := b.config
		c.Host = "tcp://" + p.listener.Addr().String()
		return c
	}
	p := newRounds(t, f, 0)
	plan(by(p))
	p.mu.Lock()
	count := p.count
	p.mu.Unlock()
	if count > most {
		t.Errorf("%d round trips, want at most %d", count, most)
	}
	slow := plan(by(newRounds(t, f, 25*time.Millisecond)))
	t.Logf("%d round trips; %v without delay, %v with 50 ms on the way", count, near, slow)
}
