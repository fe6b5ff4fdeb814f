package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/test/pipe"
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

// door is the API of a hub without sessions, as browsers reach it.
type door struct {
	t       *testing.T
	server  *server.Server
	handler http.Handler
}

func newDoor(t *testing.T, logins *server.Logins) door {
	t.Helper()
	s, l := server.New(server.Config{Logins: logins}), pipe.Listen()
	t.Cleanup(func() { l.Close() })
	listener := server.Listener{Listener: l, Token: token}
	s.Listens(listener)
	return door{t, s, s.Handler(listener)}
}

// ask sends a request, and reads the response into a document unless that is nil.
func (d door) ask(want int, method, path, body, browser string, into any, cookies ...*http.Cookie) []*http.Cookie {
	d.t.Helper()
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if browser == token {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set("User-Agent", browser)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if w.Code != want {
		d.t.Errorf("%s %s: %d, want %d: %s", method, path, w.Code, want, w.Body)
	}
	if into != nil {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			d.t.Errorf("%s %s: %v: %s", method, path, err, w.Body)
		}
	}
	return w.Result().Cookies()
}

// login returns the cookies of a browser that has logged in with the token, or by a link.
func (d door) login(browser string, link ...api.Link) []*http.Cookie {
	d.t.Helper()
	with := api.Login{Token: token}
	if len(link) > 0 {
		_, code, _ := strings.Cut(link[0].URL, "#login=")
		with = api.Login{Code: code}
	}
	body, _ := json.Marshal(with)
	return d.ask(200, "POST", "/v1/login", string(body), browser, nil)
}

func (d door) link(scope api.Scope, name string) api.Link {
	d.t.Helper()
	l, err := d.server.Link(scope, name)
	if err != nil {
		d.t.Error(err)
	}
	return l
}

// list returns the open logins as a caller sees them: one with the token, or a browser.
func (d door) list(browser string, cookies ...*http.Cookie) api.LoginsDocument {
	d.t.Helper()
	var x api.LoginsDocument
	d.ask(200, "GET", "/v1/logins", "", browser, &x, cookies...)
	return x
}

func readLogins(t *testing.T, file, token string) *server.Logins {
	t.Helper()
	logins, err := server.ReadLogins(file, token, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return logins
}

// Whoever has a copy of a cookie is logged out with its browser, also at the next hub.
func TestLogoutEndsTheLogin(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hub.logins")
	first := newDoor(t, readLogins(t, file, token))
	one, two := first.login(""), first.login("")
	first.ask(200, "GET", "/v1/access", "", "", nil, one...)
	for _, c := range first.ask(200, "POST", "/v1/logout", "{}", "", nil, one...) {
		if c.MaxAge >= 0 {
			t.Errorf("the browser keeps %s", c)
		}
	}
	for _, d := range []door{first, newDoor(t, readLogins(t, file, token))} {
		d.ask(401, "GET", "/v1/access", "", "", nil, one...)
		d.ask(200, "GET", "/v1/access", "", "", nil, two...)
		if got := d.list(token).Logins; len(got) != 1 {
			t.Errorf("after one of two has logged out %+v are open", got)
		}
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ReadLogins(file, token, nil); err == nil || !strings.Contains(err.Error(), "use a new token") {
		t.Errorf("of a damaged file: %v", err)
	}
}

const (
	firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	iPhone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
)

// Each login has a name of its own, which says what browser it is.
func TestLoginsHaveNames(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	seen := map[string]bool{}
	for _, c := range []struct{ link, browser, want string }{
		{"", firefox, "[0-9a-f]{4} (Firefox on Linux)"},
		{"", firefox, "[0-9a-f]{4} (Firefox on Linux)"},
		{"", "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36", "[0-9a-f]{4} (Chrome on Android)"},
		{"", iPhone, "[0-9a-f]{4} (Safari on iPhone)"},
		{"", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0", "[0-9a-f]{4} (Edge on Windows)"},
		{"", "curl/8.5.0", "[0-9a-f]{4}"},
		{"", "<script> Linux", "[0-9a-f]{4} (Linux)"},
		{"phone", iPhone, "phone (Safari on iPhone)"},
		{"Jörgs 2. phone-_", "curl/8.5.0", "Jörgs 2. phone-_"},
	} {
		cookies := d.login(c.browser, d.link(api.Operate, c.link))
		var x api.Access
		d.ask(200, "GET", "/v1/access", "", c.browser, &x, cookies...)
		want := "^page " + strings.NewReplacer("(", `\(`, ")", `\)`).Replace(c.want) + "$"
		if !regexp.MustCompile(want).MatchString(x.By) {
			t.Errorf("%q, %s: %q, want %q", c.link, c.browser, x.By, want)
		}
		if l := d.list(c.browser, cookies...).Logins[0]; !l.Own || l.Name != x.By {
			t.Errorf("%q is first in the list as %+v", x.By, l)
		}
		name, _, _ := strings.Cut(x.By, " (")
		seen[name] = true
	}
	if len(seen) < 4 {
		t.Errorf("several logins have one name: %v", seen)
	}
	for _, name := range []string{strings.Repeat("x", 41), "a/b", "a\tb", "<b>", " phone", "phone ", "\u202ephone", "\xff"} {
		var refused *api.Error
		if _, err := d.server.Link(api.Operate, name); !errors.As(err, &refused) || refused.Status != 400 || !strings.Contains(refused.Next, "40 letters, digits") {
			t.Errorf("a login may have the name %q: %v", name, err)
		}
	}
	d.ask(400, "POST", "/v1/links", `{"name": "a/b"}`, token, nil)
}

// Who may act sees all logins and ends any, and who may only read sees its own. Another hub of the project
// knows a login by its cookie.
func TestLoginsAreListedAndEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		d := newDoor(t, readLogins(t, filepath.Join(dir, "hub.logins"), token))
		began := time.Now()
		phone := d.login(iPhone, d.link(api.Operate, "phone"))
		time.Sleep(time.Hour)
		reader := d.login(firefox, d.link(api.Read, ""))
		time.Sleep(time.Hour)
		d.ask(200, "GET", "/v1/access", "", iPhone, nil, phone...)

		all := d.list(iPhone, phone...).Logins
		if len(all) != 2 || !all[0].Own || all[1].Own || all[1].Scope != api.Read {
			t.Fatalf("%+v", all)
		}
		month := 30 * 24 * time.Hour
		want := api.OpenLogin{ID: all[0].ID, Name: "page phone (Safari on iPhone)", Scope: api.Operate, Since: began.UTC(), Until: began.Add(month).UTC(), Used: time.Now().UTC(), Own: true}
		if diff := cmp.Diff(want, all[0]); diff != "" {
			t.Error(diff)
		}
		if own := d.list(firefox, reader...).Logins; len(own) != 1 || own[0].ID != all[1].ID || !own[0].Own {
			t.Errorf("who may only read sees %+v", own)
		}
		d.ask(403, "POST", "/v1/logins/"+want.ID+"/end", "{}", firefox, nil, reader...)
		d.ask(404, "POST", "/v1/logins/nobody/end", "{}", token, nil)

		other := newDoor(t, readLogins(t, filepath.Join(dir, "other.logins"), token))
		if got := other.list(iPhone, phone...).Logins; len(got) != 1 || got[0].Name != want.Name || !got[0].Since.Equal(began) {
			t.Errorf("another hub knows %+v", got)
		}
		var left api.LoginsDocument
		d.ask(200, "POST", "/v1/logins/"+all[1].ID+"/end", "{}", iPhone, &left, phone...)
		if len(left.Logins) != 1 || left.Logins[0].ID != want.ID {
			t.Errorf("left is %+v", left)
		}
		d.ask(404, "POST", "/v1/logins/"+all[1].ID+"/end", "{}", iPhone, nil, phone...)
		next := newDoor(t, readLogins(t, filepath.Join(dir, "hub.logins"), token))
		for _, x := range []door{d, next} {
			x.ask(401, "GET", "/v1/access", "", firefox, nil, reader...)
			x.ask(200, "GET", "/v1/access", "", iPhone, nil, phone...)
		}
		if got := readLogins(t, filepath.Join(dir, "hub.logins"), strings.ToUpper(token)); len(newDoor(t, got).list(token).Logins) != 0 {
			t.Error("a new token leaves logins in the list")
		}
		time.Sleep(month)
		d.ask(401, "GET", "/v1/access", "", iPhone, nil, phone...)
		if got := d.list(token).Logins; len(got) != 0 {
			t.Errorf("their time is over: %+v", got)
		}
	})
}

// A file that cannot be written keeps nobody out, and lets no ended login in without a word.
func TestLoginsThatCannotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		file := filepath.Join(dir, "hub.logins")
		var log bytes.Buffer
		logins, err := server.ReadLogins(file, token, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		d := newDoor(t, logins)
		one, two := d.login(""), d.login("")
		if problem := d.list("", one...).Problem; !strings.Contains(problem, file) {
			t.Errorf("the list says %q", problem)
		}
		var refused api.Failure
		for _, c := range d.ask(500, "POST", "/v1/logout", "{}", "", &refused, one...) {
			if c.MaxAge >= 0 {
				t.Errorf("the browser keeps %s", c)
			}
		}
		if e := refused.Error; e == nil || !strings.Contains(e.Message, "valid again when the hub restarts") || !strings.Contains(e.Next, "new token") {
			t.Errorf("a logout that is not kept answers %+v", e)
		}
		third := d.list("", d.login("")...).Logins[0].ID
		d.ask(500, "POST", "/v1/logins/"+third+"/end", "{}", token, nil)
		d.ask(401, "GET", "/v1/access", "", "", nil, one...)
		d.ask(200, "GET", "/v1/access", "", "", nil, two...)
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
			t.Errorf("it is logged %d times:\n%s", n, &log)
		}

		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		d.ask(200, "GET", "/v1/access", "", "", nil, two...)
		if problem := d.list("", two...).Problem; problem != "" || !strings.Contains(log.String(), "kept again") {
			t.Errorf("the file can be written: %q\n%s", problem, &log)
		}
		newDoor(t, readLogins(t, file, token)).ask(401, "GET", "/v1/access", "", "", nil, one...)
	})
}

// However often someone logs in, the list and its file stay small, and who is there stays.
func TestLoginsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "hub.logins")
		d := newDoor(t, readLogins(t, file, token))
		first, mine := d.login(""), d.login("")
		for range 500 {
			time.Sleep(time.Second)
			d.login("")
			d.ask(200, "GET", "/v1/access", "", "", nil, mine...)
		}
		last := d.login("")
		if n := len(d.list(token).Logins); n != 200 {
			t.Errorf("%d are open", n)
		}
		var kept struct{ Open, Ended map[string]any }
		text, err := os.ReadFile(file)
		if err = errors.Join(err, json.Unmarshal(text, &kept)); err != nil || len(kept.Open) != 200 || len(kept.Ended) != 200 {
			t.Errorf("the file has %d open and %d ended logins: %v", len(kept.Open), len(kept.Ended), err)
		}
		for _, x := range []door{d, newDoor(t, readLogins(t, file, token))} {
			x.ask(401, "GET", "/v1/access", "", "", nil, first...)
			x.ask(200, "GET", "/v1/access", "", "", nil, mine...)
			x.ask(200, "GET", "/v1/access", "", "", nil, last...)
		}
	})
}

// Requests do not write the file each: when a login was last used is written once a minute.
func TestUseOfLoginsIsWrittenOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "hub.logins")
		d := newDoor(t, readLogins(t, file, token))
		mine := d.login("")
		writes, before := 0, ""
		for range 60 {
			time.Sleep(5 * time.Second)
			d.ask(200, "GET", "/v1/access", "", "", nil, mine...)
			now, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if before != "" && string(now) != before {
				writes++
			}
			before = string(now)
		}
		if writes != 5 {
			t.Errorf("written %d times in 5 minutes", writes)
		}
	})
}

// A stream that began before a login is ended, by itself or by another one, ends.
func TestLogoutEndsTheStream(t *testing.T) {
	for _, by := range []string{"itself", "another"} {
		t.Run(by, func(t *testing.T) { endsTheStream(t, by == "itself") })
	}
}

func endsTheStream(t *testing.T, itself bool) {
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
		if itself {
			ask("POST", "/v1/logout", "{}", cookies...)
		} else {
			_, others := ask("POST", "/v1/login", `{"token": "`+token+`"}`)
			body, _ := ask("GET", "/v1/logins", "", others...)
			var d api.LoginsDocument
			if err := json.NewDecoder(body).Decode(&d); err != nil || len(d.Logins) != 2 {
				t.Fatal(d, err)
			}
			i := slices.IndexFunc(d.Logins, func(l api.OpenLogin) bool { return !l.Own })
			ask("POST", "/v1/logins/"+d.Logins[i].ID+"/end", "{}", others...)
		}
		left := time.Now()
		_, _ = io.ReadAll(stream) // the end of a body may be cut off
		if after := time.Since(left); after > time.Minute {
			t.Errorf("the stream ended %s after the logout", after)
		}
	})
}
