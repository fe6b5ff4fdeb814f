//go:build real

package torture

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy stands before the Docker engine and hands on what it is asked, except for the one
// request that is to meet a fault.
type proxy struct {
	net.Listener
	Host string // as DOCKER_HOST says it
	cut  func() // ends what the connections to it pass through

	mu    sync.Mutex
	conns []net.Conn
	calls map[string]int // by operation
	fault fault
	met   bool
	gone  bool // nothing passes any more
}

// What a request to the engine meets besides what a wrapper's call does.
const (
	kindHangUp   = "hang up"   // the connection is closed, nothing is done
	kindGone     = "gone"      // as hang up, and nothing passes from then on
	kindLateGone = "late gone" // as cut, and nothing passes from then on
)

// newProxy is one in a directory, before this machine's engine; it ends with the test.
func newProxy(t *testing.T, dir string) *proxy {
	t.Helper()
	engine := cmp.Or(os.Getenv("DOCKER_HOST"), "unix:///var/run/docker.sock")
	path := filepath.Join(dir, "engine.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return newProxyOf(t, engine, "unix://"+path, listener)
}

// newProxyOf is a proxy of the engine with a socket on this machine. Who asks it finds the
// listener at host.
func newProxyOf(t *testing.T, engine, host string, listener net.Listener) *proxy {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(engine, "unix://"))
	}}
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "docker"})
	behind.Transport, behind.FlushInterval = transport, -1
	p := &proxy{Listener: listener, Host: host, calls: map[string]int{}, cut: func() {}}
	behind.ModifyResponse = func(r *http.Response) error {
		switch kind, _ := r.Request.Context().Value(metKey{}).(string); kind {
		case kindLate:
			r.Body.Close()
			r.StatusCode, r.Status = http.StatusInternalServerError, ""
			r.Header.Set("Content-Type", "application/json")
			r.Header.Del("Content-Length")
			r.ContentLength = -1
			r.Body = io.NopCloser(strings.NewReader(`{"message": "` + injected + `"}`))
		case kindCut, kindLateGone:
			p.leave(kind)
			return io.ErrUnexpectedEOF // the answer is not handed on
		}
		return nil
	}
	behind.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // hangs up
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { p.serve(behind, w, q) })}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(p) }()
	t.Cleanup(func() { server.Close(); <-ended; transport.CloseIdleConnections() })
	return p
}

type metKey struct{}

func (p *proxy) serve(behind http.Handler, w http.ResponseWriter, q *http.Request) {
	kind := p.meets(operation(q))
	switch kind {
	case kindError:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"message": "`+injected+`"}`)
		return
	case kindHangUp, kindGone:
		p.leave(kind)
		panic(http.ErrAbortHandler)
	case kindSlow:
		time.Sleep(400 * time.Millisecond)
	}
	behind.ServeHTTP(w, q.WithContext(context.WithValue(q.Context(), metKey{}, kind)))
}

// leave cuts what a fault of that kind cuts besides the request's own connection.
func (p *proxy) leave(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if kind == kindGone || kind == kindLateGone {
		p.gone = true
		for _, c := range p.conns {
			c.Close()
		}
		p.conns = nil
	}
	p.cut()
}

// Accept returns the next connection to the proxy.
func (p *proxy) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.conns = append(p.conns, c)
	}
	return c, err
}

// meets counts a call, and says which fault it meets; empty: none.
func (p *proxy) meets(op string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return kindHangUp
	}
	p.calls[op]++
	if p.fault.op != op || p.fault.nth != p.calls[op] {
		return ""
	}
	p.met = true
	return p.fault.kind
}

// expect sets the next fault, and forgets the calls so far.
func (p *proxy) expect(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.fault, p.met, p.gone = map[string]int{}, f, false, false
}

// operations are those that were called since, and how often.
func (p *proxy) operations() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.calls)
}

func (p *proxy) wasMet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

// named are the parts of a path that are the names of things.
var named = regexp.MustCompile(`^/v[\d.]+|/(containers|exec|images|volumes|networks)/[^/]+(/|$)`)

// operation is a request without the names of things: POST /containers/*/start.
func operation(q *http.Request) string {
	if strings.HasSuffix(q.URL.Path, "/containers/json") || strings.HasSuffix(q.URL.Path, "/containers/create") {
		return q.Method + " " + regexp.MustCompile(`^/v[\d.]+`).ReplaceAllString(q.URL.Path, "")
	}
	return q.Method + " " + named.ReplaceAllStringFunc(q.URL.Path, func(s string) string {
		parts := strings.SplitN(strings.TrimPrefix(s, "/"), "/", 3)
		switch {
		case len(parts) == 1: // the version
			return ""
		case len(parts) == 2:
			return "/" + parts[0] + "/*"
		}
		return "/" + parts[0] + "/*/"
	})
}
