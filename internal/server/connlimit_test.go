package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/test/pipe"
)

// Connections without the token make room for new ones, the oldest first, and those with
// the token stay.
func TestStrangersMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 8
		l := pipe.Listen()
		hub := New(Config{})
		secret := strings.Repeat("x", 32)
		server := &http.Server{ConnContext: withConn, ReadHeaderTimeout: time.Minute, Handler: hub.Handler(Listener{Token: secret})}
		limiter := &connLimiter{Listener: l, limit: most}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(limiter) }()
		defer func() { server.Close(); <-ended }()
		type client struct {
			net.Conn
			*bufio.Reader
		}
		dial := func() client {
			t.Helper()
			c, err := pipe.Dial(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return client{c, bufio.NewReader(c)}
		}
		ask := func(c client, path, header string) (int, error) {
			if _, err := fmt.Fprintf(c.Conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, header); err != nil {
				return 0, err
			}
			r, err := http.ReadResponse(c.Reader, nil)
			if err != nil {
				return 0, err
			}
			_, err = io.Copy(io.Discard, r.Body)
			return r.StatusCode, errors.Join(err, r.Body.Close())
		}
		token := "Authorization: Bearer " + secret + "\r\n"
		cookie := "Cookie: " + cookieName(secret) + "=" + newCookie(secret, api.Read, "", time.Now().Add(time.Hour)).value() + "\r\n"
		owner := dial()
		if code, err := ask(owner, "/v1/access", token); code != http.StatusOK || err != nil {
			t.Fatal(code, err)
		}
		browser := dial()
		if code, err := ask(browser, "/v/0/page.css", cookie); code != http.StatusOK || err != nil {
			t.Fatal(code, err)
		}
		var unauthenticated []client
		for range 5 * most {
			c := dial()
			if code, err := ask(c, "/v/0/page.css", ""); code != http.StatusOK || err != nil {
				t.Fatalf("a new connection: %d, %v", code, err)
			}
			unauthenticated = append(unauthenticated, c)
		}
		if code, err := ask(owner, "/v1/access", token); code != http.StatusOK || err != nil {
			t.Errorf("the connection of who has the token: %d, %v", code, err)
		}
		if code, err := ask(browser, "/v/0/page.css", cookie); code != http.StatusOK || err != nil {
			t.Errorf("the connection of a browser that has logged in: %d, %v", code, err)
		}
		if code, err := ask(dial(), "/v1/access", token); code != http.StatusOK || err != nil {
			t.Errorf("another one: %d, %v", code, err)
		}
		if _, err := ask(unauthenticated[0], "/v/0/page.css", ""); err == nil {
			t.Error("the oldest one without the token is still there")
		}
		// A connection with the token that is closed gives its place away.
		for range 2 * most {
			c := dial()
			if code, err := ask(c, "/v1/access", "Connection: close\r\n"+token); code != http.StatusOK || err != nil {
				t.Fatal(code, err)
			}
			if _, err := c.Reader.ReadByte(); !errors.Is(err, io.EOF) {
				t.Fatalf("it is not closed: %v", err)
			}
		}
		if code, err := ask(dial(), "/v/0/page.css", ""); code != http.StatusOK || err != nil {
			t.Errorf("one without the token, when others have left: %d, %v", code, err)
		}
		limiter.mu.Lock()
		defer limiter.mu.Unlock()
		if n := limiter.authenticated + len(limiter.unauthenticated); n > most {
			t.Errorf("%d connections are held, want at most %d", n, most)
		}
	})
}
