//go:build real

package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// github DIR: the API of GitHub over TLS, for gh as it is, which finds it by a proxy and knows the
// token of the script. It answers for the repository shop/api from files of the directory: pulls-BRANCH,
// checks-COMMIT, comments-NUMBER, reviews-NUMBER and threads, and logs from another host, as GitHub
// does, as soon as there is a file log. What it was asked is in the file requests.
func github(ts *testscript.TestScript, neg bool, args []string) {
	g := &gitHub{requests{dir: ts.MkAbs(args[0])}}
	overTLS(ts, g.dir, g, "api.github.com", "logs.example.test")
	ts.Setenv("GH_TOKEN", ghToken)
}

const ghToken = "gho_t0kenOfTheScript"

// overTLS serves a handler by the names of servers to the programs that the script starts, which
// find it by a proxy.
func overTLS(ts *testscript.TestScript, dir string, h http.Handler, names ...string) {
	ts.Check(os.MkdirAll(dir, 0o700))
	far := httptest.NewUnstartedServer(h)
	certificate, file := certify(ts, dir, names...)
	far.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	far.StartTLS()
	proxy := httptest.NewServer(connectTo(far.Listener.Addr().String()))
	ts.Defer(func() {
		proxy.Close()
		far.CloseClientConnections()
		far.Close()
	})
	ts.Setenv("HTTPS_PROXY", proxy.URL)
	ts.Setenv("SSL_CERT_FILE", file)
}

// certify makes a certificate that signs itself, and the file of it.
func certify(ts *testscript.TestScript, dir string, names ...string) (tls.Certificate, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	file := filepath.Join(dir, "ca.pem")
	ts.Check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// connectTo is a proxy whose every connection leads to one address.
func connectTo(address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		to, err := net.Dial("tcp", address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer to.Close()
		from, rest, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer from.Close()
		fmt.Fprint(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(to, rest)
			to.Close()
		}()
		_, _ = io.Copy(from, to)
	})
}

// requests are those to a server, which answers from files of a directory. They are written down in
// the file requests there.
type requests struct {
	dir string
	mu  sync.Mutex
}

// note writes down a request and its status.
func (q *requests) note(status int, r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(q.dir, "requests"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, status, r.Method, r.Host+r.URL.Path)
}

// waitForLog waits until there is a file log. The request is noted before.
func (q *requests) waitForLog(r *http.Request) {
	q.note(http.StatusProcessing, r)
	for _, err := os.Stat(filepath.Join(q.dir, "log")); err != nil && r.Context().Err() == nil; _, err = os.Stat(filepath.Join(q.dir, "log")) {
		time.Sleep(20 * time.Millisecond)
	}
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, message string) int {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"message":%q}`, message)
	return status
}

// file answers with a file, or with empty where there is none. limits are what the names of the
// headers about a limit begin with.
func (q *requests) file(w http.ResponseWriter, r *http.Request, name, empty, limits string) int {
	body, err := os.ReadFile(filepath.Join(q.dir, name))
	if err != nil {
		body = []byte(empty)
	}
	tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(body))
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set(limits+"Limit", "5000")
	h.Set(limits+"Remaining", "4900")
	h.Set(limits+"Reset", fmt.Sprint(time.Now().Add(time.Hour).Unix()))
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified
	}
	_, _ = w.Write(body)
	return http.StatusOK
}

// gitHub is the API of GitHub, as far as agentform asks it.
type gitHub struct{ requests }

func (g *gitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.note(g.answer(w, r), r)
}

func (g *gitHub) answer(w http.ResponseWriter, r *http.Request) (status int) {
	authorized := strings.TrimPrefix(strings.TrimPrefix(r.Header.Get("Authorization"), "token "), "Bearer ")
	path, isOurs := strings.CutPrefix(r.URL.Path, "/repos/shop/api/")
	switch {
	case r.Host == "logs.example.test":
		if authorized != "" {
			return refuse(w, http.StatusBadRequest, "the token is for GitHub alone")
		}
		http.ServeFile(w, r, filepath.Join(g.dir, "log"))
		return http.StatusOK
	case authorized != ghToken:
		return refuse(w, http.StatusUnauthorized, "Bad credentials")
	case strings.HasPrefix(path, "actions/jobs/") && strings.HasSuffix(path, "/logs"):
		g.waitForLog(r)
		http.Redirect(w, r, "https://logs.example.test/"+path, http.StatusFound)
		return http.StatusFound
	}
	file, empty := "", "[]"
	switch {
	case r.URL.Path == "/graphql" && r.Method == http.MethodPost:
		file, empty = "threads", `{"data":{"repository":{"pullRequest":{"reviewThreads":{"pageInfo":{"hasNextPage":false},"nodes":[]}}}}}`
	case !isOurs || r.Method != http.MethodGet:
	case path == "pulls":
		file = "pulls-" + strings.TrimPrefix(r.URL.Query().Get("head"), "shop:agents/")
	case strings.HasPrefix(path, "commits/"):
		file, empty = "checks-"+strings.TrimSuffix(strings.TrimPrefix(path, "commits/"), "/check-runs"), `{"total_count":0,"check_runs":[]}`
	case strings.HasPrefix(path, "pulls/") && (strings.HasSuffix(path, "/comments") || strings.HasSuffix(path, "/reviews")):
		number, what, _ := strings.Cut(strings.TrimPrefix(path, "pulls/"), "/")
		file = what + "-" + number
	}
	if file == "" {
		return refuse(w, http.StatusNotFound, "Not Found")
	}
	return g.file(w, r, file, empty, "X-RateLimit-")
}
