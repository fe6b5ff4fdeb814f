package server_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/session"
)

// On TCP the token decides, on the socket nothing does; and by neither door a page in
// somebody's browser comes in.
func TestDoors(t *testing.T) {
	t.Parallel()
	s := newShop(t, session.Single("api"))
	s.serve()
	tcp := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	unix := caller(s.socket())
	for _, x := range []struct {
		what    string
		client  *http.Client
		method  string
		path    string
		headers string // Name: value, a line each
		status  int
		code    string
	}{
		{"no token", tcp, "GET", "/v1/sessions", "", 401, "unauthorized"},
		{"no token", tcp, "GET", "/metrics", "", 401, "unauthorized"},
		{"no token", tcp, "GET", "/v1/events", "", 401, "unauthorized"},
		{"no token", tcp, "POST", "/v1/sessions/api/stop", "", 401, "unauthorized"},
		{"no token", tcp, "POST", "/agents/api/restart-session", "", 401, "unauthorized"},
		{"a wrong one", tcp, "GET", "/v1/sessions", "Authorization: Bearer " + token[:31], 401, "unauthorized"},
		{"a longer one", tcp, "GET", "/v1/sessions", "Authorization: Bearer " + token + "0", 401, "unauthorized"},
		{"an empty one", tcp, "GET", "/v1/sessions", "Authorization: Bearer ", 401, "unauthorized"},
		{"another scheme", tcp, "GET", "/v1/sessions", "Authorization: Basic " + token, 401, "unauthorized"},
		{"in the query", tcp, "GET", "/v1/sessions?token=" + token, "", 401, "unauthorized"},
		{"the token", tcp, "GET", "/v1/sessions", "Authorization: Bearer " + token, 200, ""},
		{"the token", tcp, "GET", "/metrics", "Authorization: bearer " + token, 200, ""},
		{"open to all", tcp, "GET", "/healthz", "", 200, ""},
		{"open to all", tcp, "GET", "/v1/openapi.json", "", 200, ""},
		{"the socket", unix, "GET", "/v1/sessions", "", 200, ""},
		{"rebinding", tcp, "GET", "/v1/sessions", "Host: evil.example:80\nAuthorization: Bearer " + token, 403, "unknown_host"},
		{"rebinding", tcp, "GET", "/healthz", "Host: evil.example", 403, "unknown_host"},
		{"rebinding", unix, "POST", "/v1/sessions/api/stop", "Host: localhost.evil.example", 403, "unknown_host"},
		{"by address", unix, "GET", "/v1/sessions", "Host: [::1]:7171", 200, ""},
		{"by name", unix, "GET", "/v1/sessions", "Host: LocalHost:7171", 200, ""},
		{"a page", unix, "POST", "/v1/sessions/api/stop", "Origin: https://evil.example", 403, "cross_origin"},
		{"a page", unix, "POST", "/v1/sessions/api/stop", "Sec-Fetch-Site: cross-site", 403, "cross_origin"},
		{"a page on another port", unix, "POST", "/v1/sessions/api/stop", "Origin: http://localhost:1", 403, "cross_origin"},
		{"a page", tcp, "POST", "/v1/sessions/api/stop", "Sec-Fetch-Site: same-site\nAuthorization: Bearer " + token, 403, "cross_origin"},
		{"a preflight", unix, "OPTIONS", "/v1/sessions/api/stop", "Origin: https://evil.example\nAccess-Control-Request-Method: POST", 405, "method_not_allowed"},
	} {
		q, err := http.NewRequestWithContext(t.Context(), x.method, "http://localhost"+x.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if x.client == tcp {
			q.URL.Host = s.tcp
			q.Host = s.tcp
		}
		for line := range strings.SplitSeq(x.headers, "\n") {
			if name, value, ok := strings.Cut(line, ": "); name == "Host" {
				q.Host = value
			} else if ok {
				q.Header.Set(name, value)
			}
		}
		r, err := x.client.Do(q)
		if err != nil {
			t.Fatalf("%s %s: %v", x.what, x.path, err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != x.status || !strings.Contains(string(body), `"code": "`+x.code) && x.code != "" {
			t.Errorf("%s: %s %s (%.40q): %d %s, want %d %s", x.what, x.method, x.path, x.headers, r.StatusCode, body, x.status, x.code)
		}
		for name := range r.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: it answers with %s", x.what, name)
			}
		}
	}
	if !s.stateIs("api", session.StateRunning) {
		t.Error("somebody stopped it")
	}
	q, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.tcp+"/v1/sessions/api/pause", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	r, err := tcp.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	x, err := s.client.Session(t.Context(), "api")
	if err != nil || r.StatusCode != http.StatusOK || x.Override == nil || x.Override.By != server.ByToken {
		t.Errorf("with the token: %s, %v, and on record is %+v", r.Status, err, x.Override)
	}
}

func TestListenTCP(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"0.0.0.0:0": "other machines can reach this address",
		"[::]:0":    "other machines can reach this address",
		"7171":      "expected HOST:PORT",
		"127.0.0.1": "expected HOST:PORT",
	} {
		if l, _, err := server.ListenTCP(address, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", address, l, err)
		}
	}
	for address, remote := range map[string]bool{"0.0.0.0:0": true, "127.0.0.1:0": false, ":0": false} {
		l, host, err := server.ListenTCP(address, remote)
		if err != nil || host != "" {
			t.Errorf("%s: %q, %v", address, host, err)
			continue
		}
		if at := l.Addr().String(); address == ":0" && !strings.HasPrefix(at, "127.0.0.1:") {
			t.Errorf("without a host it listens at %s", at)
		}
		l.Close()
	}
	l, host, err := server.ListenTCP("localhost:0", false)
	if err != nil || host != "localhost" {
		t.Fatalf("localhost: %q, %v", host, err)
	}
	l.Close()
}

// The socket is its owner's, stands where a dead one stood, and goes when it is
// closed, unless another stands there.
func TestListenUnix(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "af")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, server.SocketName)
	first, err := server.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	second, err := server.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("unix", path); err != nil {
		t.Errorf("the first took the second's away: %v", err)
	} else {
		c.Close()
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	if err := os.WriteFile(path, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ListenUnix(path); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("over a file: %v", err)
	}
	if _, err := server.ListenUnix(filepath.Join(dir, strings.Repeat("x", 120), "hub.sock")); err == nil {
		t.Error("where there is no folder it listens")
	}
}

// A hub that is killed leaves its socket behind, and the next one is there in its
// place; a second beside it changes nothing.
func TestKilledHub(t *testing.T) {
	t.Parallel()
	s := newShop(t, session.Single("api"))
	start := func() *exec.Cmd {
		c := exec.Command(os.Args[0], "hub", s.dir)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		s.until("the hub answers", func() bool {
			h, err := s.client.Health(t.Context())
			holder, runs := hub.Running(filepath.Join(s.dir, "data"))
			return err == nil && h.Status == "ok" && runs && holder.PID == c.Process.Pid
		})
		return c
	}
	c := start()
	before, err := s.client.Session(t.Context(), "api")
	if err != nil {
		t.Fatal(err)
	}
	second := exec.Command(os.Args[0], "hub", s.dir)
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "is already running for this project") {
		t.Errorf("a second hub: %v, %s", err, out)
	}
	if !s.stateIs("api", session.StateRunning) {
		t.Error("after a second hub the first does not answer")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if _, err := os.Lstat(s.socket()); err != nil {
		t.Fatalf("the killed one left no socket: %v", err)
	}
	if _, err := s.client.Health(t.Context()); !api.NotThere(err) {
		t.Errorf("nobody listens: %v", err)
	}
	c = start()
	after, err := s.client.Session(t.Context(), "api")
	if err != nil || *after.PID != *before.PID || after.Restarts != 0 {
		t.Errorf("with the next hub the agent is %v, %v, it was %v", after.PID, err, before.PID)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("told to end it ended with %v", err)
	}
	if _, err := os.Lstat(s.socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ended, it left its socket: %v", err)
	}
}

// Whoever sends slowly, or too much, is cut off.
func TestSlowAndLong(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.serve()
	var cut sync.WaitGroup
	for what, x := range map[string]struct {
		text   string
		answer string
	}{
		"half a header":    {"GET /healthz HTTP/1.1\r\nHost: loc", ""},
		"nothing":          {"", ""},
		"half a body":      {"POST /v1/sessions/api/send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", "400"},
		"a long header":    {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "431"},
		"a body in chunks": {"POST /v1/sessions/api/send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n11000\r\n" + strings.Repeat("x", 0x11000) + "\r\n", "413"},
	} {
		cut.Go(func() {
			c, err := net.Dial("unix", s.socket())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			began := time.Now()
			_ = c.SetDeadline(began.Add(time.Minute))
			if _, err := io.WriteString(c, x.text); err != nil && x.answer == "" {
				t.Errorf("%s: %v", what, err)
			}
			line, err := bufio.NewReader(c).ReadString('\n')
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: after %s it still waits", what, time.Since(began))
			}
			if !strings.Contains(line, x.answer) {
				t.Errorf("%s: answered %q, %v", what, line, err)
			}
		})
	}
	cut.Wait()
}

// No more than the promised 16 KiB of headers are read.
func TestHeaderLimit(t *testing.T) {
	t.Parallel()
	s := newShop(t, session.Single("api"))
	s.serve()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for size, want := range map[int]int{15 << 10: http.StatusOK, 16 << 10: http.StatusRequestHeaderFieldsTooLarge, 20_000: http.StatusRequestHeaderFieldsTooLarge} {
		q, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.tcp+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Long", strings.Repeat("x", size))
		r, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%d bytes: %d, want %d", size, r.StatusCode, want)
		}
	}
}
