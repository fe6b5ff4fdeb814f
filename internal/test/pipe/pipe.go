// Package pipe serves HTTP over net.Pipe in tests: without a network, and also in bubbles of
// testing/synctest.
package pipe

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// listeners are those that Dial finds, by address.
var listeners sync.Map

var last atomic.Int64

// prefix begins the addresses, which are for documentation (RFC 5737), so no network has them.
const prefix = "192.0.2."

// Listener accepts the connections of Dial.
type Listener struct {
	address string
	conns   chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

// Listen returns a listener with an address of its own.
func Listen() *Listener {
	n := last.Add(1)
	l := &Listener{address: fmt.Sprintf("%s%d:%d", prefix, 1+n/50_000, 1+n%50_000), conns: make(chan net.Conn), closed: make(chan struct{})}
	listeners.Store(l.address, l)
	return l
}

func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *Listener) Close() error {
	l.once.Do(func() {
		listeners.Delete(l.address)
		close(l.closed)
	})
	return nil
}

func (l *Listener) Addr() net.Addr { return address(l.address) }

type address string

func (address) Network() string  { return "pipe" }
func (a address) String() string { return string(a) }

// Dial connects to a Listener, and to other addresses as net.Dialer does.
func Dial(ctx context.Context, network, to string) (net.Conn, error) {
	if !strings.HasPrefix(to, prefix) {
		return new(net.Dialer).DialContext(ctx, network, to)
	}
	refused := &net.OpError{Op: "dial", Net: network, Addr: address(to), Err: syscall.ECONNREFUSED}
	l, ok := listeners.Load(to)
	if !ok {
		return nil, refused
	}
	client, server := net.Pipe()
	select {
	case l.(*Listener).conns <- server:
		return client, nil
	case <-l.(*Listener).closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Transport returns a transport that uses Dial.
func Transport() *http.Transport { return &http.Transport{DialContext: Dial} }

// Serve starts a server that ends with the test. Its client uses Dial.
func Serve(t testing.TB, h http.Handler) *httptest.Server {
	s := NewUnstartedServer(h)
	s.Start()
	t.Cleanup(s.Close)
	s.Client().Transport.(*http.Transport).DialContext = Dial
	return s
}

// NewUnstartedServer returns a server that the caller starts and closes.
func NewUnstartedServer(h http.Handler) *httptest.Server {
	return &httptest.Server{Listener: Listen(), Config: &http.Server{Handler: h}}
}
