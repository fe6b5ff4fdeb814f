package server_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/session"
)

// On TCP the token decides, on the socket nothing does; and by neither door a page in
// somebody's browser comes in.
func TestDoors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, session.Single("api"))
		s.serve()
		tcp := &http.Client{Transport: byTCP()}
		unix := s.caller()
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
			{"no token", tcp, "POST", "/v1/logout", "", 401, "unauthorized"},
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
			if strings.HasPrefix(x.what, "no token") && strings.Contains(string(body), "shop") {
				t.Errorf("%s: %s %s names the project: %s", x.what, x.method, x.path, body)
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
	})
}

// Whoever sends slowly, or too much, is cut off.
func TestSlowAndLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
				c, err := s.connect(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				began := time.Now()
				_ = c.SetDeadline(began.Add(time.Minute))
				cut.Go(func() { // the answer may come before the end
					if _, err := io.WriteString(c, x.text); err != nil && x.answer == "" {
						t.Errorf("%s: %v", what, err)
					}
				})
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
	})
}

// No more than the promised 16 KiB of headers are read.
func TestHeaderLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, session.Single("api"))
		s.serve()
		client := &http.Client{Transport: byTCP()}
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
	})
}
