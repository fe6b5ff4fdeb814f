package kubetest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Kind is what happens to a call that meets a Fault.
type Kind string

// The kinds of faults.
const (
	Failed    Kind = "500"                // the API server fails, without doing anything
	Throttled Kind = "429"                // it refuses for now: Retry-After is one second
	CutBefore Kind = "cut before"         // the connection ends, and the API server saw nothing
	CutAfter  Kind = "cut after the work" // the API server does its work, and the connection ends without the answer
)

// Fault is a call that fails.
type Fault struct {
	Call string // as Calls has it
	Nth  int    // of these calls, from 1; 0: all of them
	Kind Kind
}

// Proxy forwards calls to the API server of a cluster, except those that meet a fault.
type Proxy struct {
	Kubeconfig string // the path of an administrator's settings that lead to the proxy

	// Cut ends all connections.
	Cut func()

	mu    sync.Mutex
	calls map[string]int
	fault Fault
	met   int
}

// Proxy returns a proxy before the API server that ends with the test.
func (c Cluster) Proxy(t *testing.T) *Proxy {
	t.Helper()
	p := &Proxy{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), calls: map[string]int{}}
	server, err := url.Parse(c.Kubectl(t, "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"))
	if err != nil {
		t.Fatal(err)
	}
	pki := filepath.Join(c.dir, "pki")
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "admin.crt"), filepath.Join(pki, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	// With HTTP/1.1 a connection that is cut has one call.
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots}}
	behind := httputil.NewSingleHostReverseProxy(server)
	behind.Transport, behind.FlushInterval = transport, -1
	behind.ModifyResponse = func(a *http.Response) error {
		if a.Request.Context().Value(faultKey{}) != CutAfter {
			return nil
		}
		if connection, ok := a.Body.(io.ReadWriteCloser); ok && a.StatusCode == http.StatusSwitchingProtocols {
			a.Body = &cutAfter{ReadWriteCloser: connection}
			return nil
		}
		_, _ = io.Copy(io.Discard, a.Body)
		return errCut
	}
	behind.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // cuts the connection
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { p.serve(behind, w, q) }))
	p.Cut = s.CloseClientConnections
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		transport.CloseIdleConnections()
	})
	config, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "proxy",
		"contexts": []any{map[string]any{"name": "proxy", "context": map[string]any{"cluster": "proxy", "user": "proxy"}}},
		"users":    []any{map[string]any{"name": "proxy", "user": map[string]any{}}},
		"clusters": []any{map[string]any{"name": "proxy", "cluster": map[string]any{
			"server":                     s.URL,
			"certificate-authority-data": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		}}},
	})
	if err == nil {
		err = os.WriteFile(p.Kubeconfig, config, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type faultKey struct{}

func (p *Proxy) serve(behind http.Handler, w http.ResponseWriter, q *http.Request) {
	kind := p.meets(call(q))
	fail := func(status int, reason string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure",
			"reason": reason, "code": status, "message": Injected})
	}
	switch kind {
	case Failed:
		fail(http.StatusInternalServerError, "InternalError")
		return
	case Throttled:
		w.Header().Set("Retry-After", "1")
		fail(http.StatusTooManyRequests, "TooManyRequests")
		return
	case CutBefore:
		panic(http.ErrAbortHandler)
	}
	q = q.WithContext(context.WithValue(q.Context(), faultKey{}, kind))
	if q.Header.Get("Upgrade") == "" {
		// A server that answers ends the body, which its proxy may still be reading.
		body, err := io.ReadAll(q.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
	}
	behind.ServeHTTP(w, q)
}

// Injected is the message of a proxy that fails.
const Injected = "the fault that the test injects"

var errCut = errors.New("the connection is cut")

// cutAfter is a connection to a command in a pod that ends when the command answers.
type cutAfter struct {
	io.ReadWriteCloser
	read int
}

// greeting is the length of an empty message for standard output, with which the API server
// begins.
const greeting = 3

func (c *cutAfter) Read(b []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(b)
	if c.read += n; c.read > greeting && err == nil {
		return 0, errCut
	}
	return n, err
}

// meets counts a call and returns the fault that it meets, "" for none.
func (p *Proxy) meets(call string) Kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[call]++
	if p.fault.Call != call || p.fault.Nth != 0 && p.fault.Nth != p.calls[call] {
		return ""
	}
	p.met++
	return p.fault.Kind
}

// Expect sets the fault that follows, and forgets the calls so far. The zero value is none.
func (p *Proxy) Expect(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.fault, p.met = map[string]int{}, f, 0
}

// Calls returns how often each call was made since: the method and the resource, with * in
// the place of a name.
func (p *Proxy) Calls() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.calls)
}

// Met returns how many calls met the fault.
func (p *Proxy) Met() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

// call returns a request without the names of things: POST pods/*/exec.
func call(q *http.Request) string {
	path := q.URL.Path
	if _, in, ok := strings.Cut(path, "/namespaces/"); ok {
		_, path, _ = strings.Cut(in, "/")
	}
	parts := strings.Split(path, "/")
	if len(parts) > 1 {
		parts[1] = "*"
	}
	text := q.Method + " " + strings.Join(parts, "/")
	for _, option := range []string{"dryRun", "watch"} {
		if q.URL.Query().Has(option) {
			text += " " + option
		}
	}
	return text
}
