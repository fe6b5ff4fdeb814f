package backendtest

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/test/pipe"
)

// What happens to one piece of a connection: to a request, or to its answer.
const (
	requestLost     = "request lost"
	requestCut      = "request cut"
	requestLate     = "request late" // its sender gives up, and it arrives
	requestRepeated = "request repeated"
	answerLost      = "answer lost"
	answerCut       = "answer cut"
	answerSlow      = "answer slow"
)

// proxy forwards connections to a server, and does one thing wrong.
type proxy struct {
	address, server string

	mu      sync.Mutex
	fault   string
	at      int // the piece that meets the fault, counted from 1 in its direction
	met     bool
	giveUp  func()        // ends the wait for the answer to a late piece
	arrived chan struct{} // closed when the late piece has been sent on
}

// startProxy returns a proxy before the server of s that ends with the test.
func (s store) startProxy(t *testing.T) *proxy {
	t.Helper()
	l, err := s.listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String(), server: s.address}
	var group sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	group.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() { p.forward(ctx, client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		cancel()
		group.Wait()
	})
	return p
}

// set arms the proxy.
func (p *proxy) set(fault string, at int, giveUp func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.at, p.met, p.giveUp, p.arrived = fault, at, false, giveUp, make(chan struct{})
}

// done disarms the proxy, and reports whether the fault was met.
func (p *proxy) done() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = ""
	return p.met
}

// next returns the fault of the next piece in a direction, "" for none.
func (p *proxy) next(direction string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == "" || p.met || !strings.HasPrefix(p.fault, direction) {
		return ""
	}
	p.at--
	if p.at > 0 {
		return ""
	}
	p.met = true
	return p.fault
}

func (p *proxy) forward(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := pipe.Dial(ctx, "tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	pass := func(from, to net.Conn, direction string) {
		defer cancel()
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if n > 0 && !p.pass(ctx, to, buffer[:n], p.next(direction)) || err != nil {
				return
			}
		}
	}
	group.Go(func() { pass(client, server, "request") })
	group.Go(func() { pass(server, client, "answer") })
	<-ctx.Done()
	client.Close()
	server.Close()
	group.Wait()
}

// lateness is how long a late request takes after its sender gave up.
const lateness = 300 * time.Millisecond

// pass sends a piece on with a fault, and reports whether the connection lasts.
func (p *proxy) pass(ctx context.Context, to net.Conn, piece []byte, fault string) bool {
	switch fault {
	case requestLost, answerLost:
		return false
	case requestCut, answerCut:
		_, _ = to.Write(piece[:len(piece)/2])
		return false
	case requestLate:
		defer close(p.arrived)
		p.giveUp()
		time.Sleep(lateness)
	case answerSlow:
		time.Sleep(lateness / 3)
	case requestRepeated:
		if again, err := pipe.Dial(ctx, "tcp", p.server); err == nil {
			defer again.Close()
			_ = again.SetDeadline(time.Now().Add(time.Second))
			_, _ = again.Write(piece)
			_, _ = again.Read(make([]byte, 1))
		}
	}
	_, err := to.Write(piece)
	return err == nil
}

// An attempt is an operation that meets a fault.
type attempt struct {
	name    string
	prepare func(t *testing.T, b backend.Backend, i backend.Info) backend.Version
	do      func(ctx context.Context, b backend.Backend, i backend.Info, v backend.Version) error
	// before and after are the states that are found, empty for none. held says who has the
	// lock after it.
	before, after []byte
	held          bool
}

var one, two = document{}.with("one").text(), document{}.with("one").with("two").text()

var attempts = []attempt{
	{
		name: "lock", held: true,
		prepare: func(*testing.T, backend.Backend, backend.Info) backend.Version { return "" },
		do: func(ctx context.Context, b backend.Backend, i backend.Info, _ backend.Version) error {
			_, err := b.Lock(ctx, i)
			return err
		},
	},
	{
		name: "renew", held: true,
		prepare: func(t *testing.T, b backend.Backend, i backend.Info) backend.Version {
			mustLock(t, b, i)
			return ""
		},
		do: func(ctx context.Context, b backend.Backend, i backend.Info, _ backend.Version) error {
			_, err := b.Lock(ctx, i)
			return err
		},
	},
	{
		name: "first write", held: true, after: one,
		prepare: func(t *testing.T, b backend.Backend, i backend.Info) backend.Version {
			mustLock(t, b, i)
			return ""
		},
		do: func(ctx context.Context, b backend.Backend, i backend.Info, v backend.Version) error {
			_, err := b.Write(ctx, one, v, i.ID)
			return err
		},
	},
	{
		name: "write", held: true, before: one, after: two,
		prepare: prepareOne,
		do: func(ctx context.Context, b backend.Backend, i backend.Info, v backend.Version) error {
			_, err := b.Write(ctx, two, v, i.ID)
			return err
		},
	},
	{
		name: "read", held: true, before: one, after: one,
		prepare: prepareOne,
		do: func(ctx context.Context, b backend.Backend, i backend.Info, v backend.Version) error {
			text, at, err := b.Read(ctx)
			if err == nil && (at != v || !bytes.Equal(text, one)) {
				return fmt.Errorf("version %q of %q: %w", at, text, backend.ErrNone)
			}
			return err
		},
	},
	{
		name: "holder", held: true, before: one, after: one,
		prepare: prepareOne,
		do: func(ctx context.Context, b backend.Backend, i backend.Info, v backend.Version) error {
			got, err := b.Holder(ctx)
			if err == nil && !same(got, i) {
				return fmt.Errorf("%+v: %w", got, backend.ErrNone)
			}
			return err
		},
	},
	{
		name: "no holder", before: one, after: one,
		prepare: func(t *testing.T, b backend.Backend, i backend.Info) backend.Version {
			v := prepareOne(t, b, i)
			mustUnlock(t, b, i)
			return v
		},
		do: func(ctx context.Context, b backend.Backend, i backend.Info, v backend.Version) error {
			if _, err := b.Holder(ctx); !errors.Is(err, backend.ErrNone) {
				return fmt.Errorf("holder: %w", err)
			}
			return nil
		},
	},
	{
		name: "unlock", before: one, after: one,
		prepare: prepareOne,
		do: func(ctx context.Context, b backend.Backend, i backend.Info, _ backend.Version) error {
			return b.Unlock(ctx, i)
		},
	},
}

func prepareOne(t *testing.T, b backend.Backend, i backend.Info) backend.Version {
	mustLock(t, b, i)
	return mustWrite(t, b, one, "", i.ID)
}

// faults returns a test of each attempt with each fault.
func (s Suite) faults() []suiteTest {
	kinds := []string{requestLost, requestCut, requestLate, answerLost, answerCut, answerSlow}
	if s.Handler != nil { // a proxy may repeat a request of HTTP on another connection
		kinds = append(kinds, requestRepeated)
	}
	var tests []suiteTest
	for _, a := range attempts {
		for _, kind := range kinds {
			if a.name == "no holder" && kind == requestLate && !s.Expires {
				continue // such a backend takes the lock for a moment
			}
			tests = append(tests, suiteTest{a.name + ", " + kind, func(t *testing.T, s store) {
				at := 1
				for s.meets(t, a, kind, at) {
					at++
				}
				if at == 1 {
					t.Error("no fault was met")
				}
			}})
		}
	}
	return tests
}

// meets makes an attempt with a fault at one piece, repeats it without, and reports whether
// the fault was met.
func (s store) meets(t *testing.T, a attempt, kind string, at int) bool {
	t.Helper()
	s.project = strings.ReplaceAll(fmt.Sprint(s.project, "-", a.name, "-", kind, "-", at), " ", "-")
	direct := s.open(t)
	p := s.startProxy(t)
	s.address = p.address
	b, i := s.open(t), info("ann")
	v := a.prepare(t, b, i)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p.set(kind, at, cancel)
	err := a.do(ctx, b, i, v)
	met := p.done()
	if err != nil && (known(err) || !met) {
		t.Fatalf("piece %d, met: %v: %v", at, met, err)
	}
	text, _, err := direct.Read(t.Context())
	if errors.Is(err, backend.ErrNone) {
		err = nil
	}
	if err != nil || !bytes.Equal(text, a.before) && !bytes.Equal(text, a.after) {
		t.Fatalf("piece %d: the state is %q, %v", at, text, err)
	}
	if err := a.do(t.Context(), b, i, v); err != nil {
		t.Fatalf("piece %d: the next attempt: %v", at, err)
	}
	if met && kind == requestLate {
		<-p.arrived
		time.Sleep(lateness / 3) // the server does what it says
	}
	if text, _, err := direct.Read(t.Context()); err != nil && !errors.Is(err, backend.ErrNone) || !bytes.Equal(text, a.after) {
		t.Fatalf("piece %d: the state is %q after the next attempt, %v", at, text, err)
	}
	if a.held {
		wantHolder(t, direct, i)
	} else {
		wantNoHolder(t, direct)
	}
	return met
}

// torn cuts a long write in its middle.
func torn(t *testing.T, s store) {
	random := make([]byte, 2<<20) // some backends compress
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	long := document{}.with(hex.EncodeToString(random)).text()
	for _, at := range []int{2, 20} {
		s := s
		s.project = fmt.Sprint(s.project, "-", at)
		direct := s.open(t)
		p := s.startProxy(t)
		s.address = p.address
		b, i := s.open(t), info("ann")
		v := prepareOne(t, b, i)
		p.set(requestCut, at, nil)
		_, err := b.Write(t.Context(), long, v, i.ID)
		if !p.done() {
			t.Fatal("the write was not cut")
		}
		if err != nil { // else it was repeated
			wantState(t, direct, one, v)
			mustWrite(t, b, long, v, i.ID)
		}
		if text, _, err := direct.Read(t.Context()); err != nil || !bytes.Equal(text, long) {
			t.Fatalf("the state is %.80q, %v", text, err)
		}
	}
}
