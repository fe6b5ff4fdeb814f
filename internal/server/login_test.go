package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/server"
)

func TestLoginWorksOnceAndReadsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, "session.api")
		s.serve()
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := &http.Client{Jar: jar, Transport: byTCP()}
		ask := func(want int, method, path, body string) string {
			t.Helper()
			q, err := http.NewRequest(method, "http://"+s.tcp+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Content-Type", "application/json")
			r, err := browser.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			b, _ := io.ReadAll(r.Body)
			if r.StatusCode != want {
				t.Errorf("%s %s %s: %s, want %d: %s", method, path, body, r.Status, want, b)
			}
			for _, c := range r.Cookies() {
				if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
					t.Errorf("%s can be read or used by others", c)
				}
			}
			return string(b)
		}
		code := func(o api.LinkOptions) string {
			l, err := s.client.Link(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			_, code, _ := strings.Cut(l.URL, "#login=")
			b, _ := json.Marshal(api.Login{Code: code})
			return string(b)
		}
		ask(401, "GET", "/v1/access", "")
		ask(401, "POST", "/v1/login", `{}`)
		ask(401, "POST", "/v1/login", `{"code": "wrong"}`)
		ask(401, "POST", "/v1/login", `{"token": "wrong"}`)

		reads := code(api.LinkOptions{ReadOnly: true})
		if got := ask(200, "POST", "/v1/login", reads); !strings.Contains(got, `"scope": "read"`) {
			t.Error(got)
		}
		ask(401, "POST", "/v1/login", reads)
		ask(200, "GET", "/v1/sessions", "")
		ask(403, "POST", "/v1/sessions/api/stop", "")
		ask(403, "POST", "/v1/links", "")
		ask(200, "POST", "/v1/logout", "")
		ask(401, "GET", "/v1/sessions", "")

		ask(200, "POST", "/v1/login", code(api.LinkOptions{}))
		if got := ask(200, "POST", "/v1/sessions/api/stop", ""); !strings.Contains(got, `"by": "page `) {
			t.Error("not on record as the page's: ", got)
		}
		ask(200, "POST", "/v1/login", `{"token": "`+token+`"}`)
	})
}

func TestCookieIsSignedAndEnds(t *testing.T) {
	now := time.Now()
	value := server.NewCookie(api.Read, token, now.Add(time.Minute))
	for what, c := range map[string]struct {
		value, token string
		at           time.Time
		want         bool
	}{
		"as made":       {value, token, now, true},
		"later":         {value, token, now.Add(2 * time.Minute), false},
		"another scope": {strings.Replace(value, "read", "operate", 1), token, now, false},
		"another token": {value, strings.ToUpper(token), now, false},
		"cut":           {value[:len(value)-1], token, now, false},
		"empty":         {"", token, now, false},
	} {
		if valid := server.CheckCookie(c.value, c.token, c.at); valid != c.want {
			t.Errorf("%s: valid %v", what, valid)
		}
	}
}

// Whoever has a copy of a cookie is logged out with its browser, also at the next hub.
func TestLogoutEndsTheLogin(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hub.logouts")
	hub := func() http.Handler {
		logouts, err := server.ReadLogouts(file)
		if err != nil {
			t.Fatal(err)
		}
		return server.New(server.Config{Logouts: logouts}).Handler(server.Listener{Token: token})
	}
	ask := func(h http.Handler, want int, method, path, body string, cookies ...*http.Cookie) []*http.Cookie {
		t.Helper()
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s %s: %d, want %d: %s", method, path, w.Code, want, w.Body)
		}
		return w.Result().Cookies()
	}
	first := hub()
	one := ask(first, 200, "POST", "/v1/login", `{"token": "`+token+`"}`)
	two := ask(first, 200, "POST", "/v1/login", `{"token": "`+token+`"}`)
	ask(first, 200, "GET", "/v1/access", "", one...)
	for _, c := range ask(first, 200, "POST", "/v1/logout", "{}", one...) {
		if c.MaxAge >= 0 {
			t.Errorf("the browser keeps %s", c)
		}
	}
	for _, h := range []http.Handler{first, hub()} {
		ask(h, 401, "GET", "/v1/access", "", one...)
		ask(h, 200, "GET", "/v1/access", "", two...)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ReadLogouts(file); err == nil || !strings.Contains(err.Error(), "use a new token") {
		t.Errorf("of a damaged file: %v", err)
	}
}

// Each login has a name of its own, which says what browser it is.
func TestLoginsHaveNames(t *testing.T) {
	t.Parallel()
	hub := server.New(server.Config{}).Handler(server.Listener{Token: token})
	by := func(method, path, body, browser string, cookies ...*http.Cookie) (string, []*http.Cookie) {
		t.Helper()
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", browser)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		hub.ServeHTTP(w, r)
		var x api.Access
		if err := json.Unmarshal(w.Body.Bytes(), &x); err != nil || w.Code != 200 {
			t.Fatalf("%s %s: %d, %v: %s", method, path, w.Code, err, w.Body)
		}
		return x.By, w.Result().Cookies()
	}
	seen := map[string]bool{}
	for _, c := range []struct{ browser, want string }{
		{"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", " (Firefox on Linux)"},
		{"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", " (Firefox on Linux)"},
		{"Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36", " (Chrome on Android)"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1", " (Safari on iPhone)"},
		{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0", " (Edge on Windows)"},
		{"curl/8.5.0", ""},
		{"<script> Linux", " (Linux)"},
	} {
		name, cookies := by("POST", "/v1/login", `{"token": "`+token+`"}`, c.browser)
		if !regexp.MustCompile("^page [0-9a-f]{4}" + regexp.QuoteMeta(c.want) + "$").MatchString(name) {
			t.Errorf("%s: %q, want %q at its end", c.browser, name, c.want)
		}
		if again, _ := by("GET", "/v1/access", "", c.browser, cookies...); again != name {
			t.Errorf("%q is called %q later", name, again)
		}
		login, _, _ := strings.Cut(name, " (")
		seen[login] = true
	}
	if len(seen) < 2 {
		t.Errorf("all logins have one name: %v", seen)
	}
}

// A stream that began before the logout ends.
func TestLogoutEndsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		s.serve()
		ask := func(method, path, body string, cookies ...*http.Cookie) (io.Reader, []*http.Cookie) {
			t.Helper()
			q, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.tcp+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Content-Type", "application/json")
			for _, c := range cookies {
				q.AddCookie(c)
			}
			r, err := byTCP().RoundTrip(q)
			if err != nil || r.StatusCode != http.StatusOK {
				t.Fatal(r, err)
			}
			time.AfterFunc(time.Hour, func() { r.Body.Close() })
			return r.Body, r.Cookies()
		}
		_, cookies := ask("POST", "/v1/login", `{"token": "`+token+`"}`)
		stream, _ := ask("GET", "/v1/events", "", cookies...)
		ask("POST", "/v1/logout", "{}", cookies...)
		left := time.Now()
		_, _ = io.ReadAll(stream) // the end of a body may be cut off
		if after := time.Since(left); after > time.Minute {
			t.Errorf("the stream ended %s after the logout", after)
		}
	})
}
