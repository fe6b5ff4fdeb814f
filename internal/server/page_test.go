package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentform/agentform/internal/server"
)

// The page needs nothing from elsewhere, holds nothing of the project, puts what agents say
// into the document as text, and is small.
func TestPageFiles(t *testing.T) {
	t.Parallel()
	handler := server.New(server.Config{}).Handler(server.Listener{Token: token})
	get := func(method, path string) (int, string, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, "http://localhost"+path, nil))
		body, _ := io.ReadAll(w.Result().Body)
		csp := w.Header().Get("Content-Security-Policy")
		if w.Code == 200 && (!strings.HasPrefix(csp, "default-src 'none'; script-src 'self';") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "require-trusted-types-for 'script'") || w.Header().Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s: its headers are %v", path, w.Header())
		}
		return w.Code, w.Header().Get("Content-Type"), string(body)
	}
	asked := regexp.MustCompile(`(?:src|href)="(/[^"]+)"|from "(\.[^"]+)"|import\("(\.[^"]+)"\)|URL\("(\.[^"]+)", import`)
	kept := regexp.MustCompile(`^/v/[0-9a-f]{10,}/`)
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\bFunction\(|"https?://| on[a-z]+="| style="|dangerously`)
	var size bytes.Buffer
	zip := gzip.NewWriter(&size)
	seen := map[string]bool{"/": true}
	for next := []string{"/"}; len(next) > 0; next = next[1:] {
		status, kind, text := get("GET", next[0])
		if status != 200 || !strings.HasPrefix(kind, "text/") || text == "" {
			t.Errorf("GET %s: %d %s", next[0], status, kind)
		}
		if cached := kept.MatchString(next[0]); cached != (next[0] != "/") {
			t.Errorf("%s is not below its version", next[0])
		}
		_, _ = io.WriteString(zip, text) // to a buffer
		if strings.Contains(next[0], "/vendor/") {
			continue
		}
		if found := markup.FindString(text); found != "" {
			t.Errorf("%s has %q", next[0], found)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if strings.HasSuffix(next[0], ".mjs") && len(lines) > 150 {
			t.Errorf("%s has %d lines: divide it by what it shows", next[0], len(lines))
		}
		for i, line := range lines {
			if utf8.RuneCountInString(line) > 120 {
				t.Errorf("%s:%d has more than 120 letters", next[0], i+1)
			}
		}
		for _, m := range asked.FindAllStringSubmatch(text, -1) {
			at := m[1]
			if at == "" {
				at = path.Join(path.Dir(next[0]), m[2]+m[3]+m[4])
			}
			if at != "/icon.svg" && at != "/manifest.webmanifest" && !seen[at] {
				seen[at] = true
				next = append(next, at)
			}
		}
	}
	_ = zip.Close()
	if len(seen) < 12 || size.Len() > 700<<10 {
		t.Errorf("it is made of %v, %d KiB", seen, size.Len()>>10)
	}
	for _, x := range []string{"GET /dashboard", "GET /page/index.html", "GET /index.html", "POST /"} {
		method, path, _ := strings.Cut(x, " ")
		if status, _, text := get(method, path); status != 404 || !strings.Contains(text, `"not_found"`) {
			t.Errorf("%s: %d %s", x, status, text)
		}
	}
	if _, _, text := get("GET", "/v/0/vendor/LICENSES"); !strings.Contains(text, "@xterm/xterm 6.0.0") {
		t.Error("the licenses of the vendored modules are missing")
	}
}

// What is long and text is compressed for browsers.
func TestCompression(t *testing.T) {
	t.Parallel()
	s := server.New(server.Config{})
	for path, want := range map[string]bool{"/": true, "/v/0/page.css": true, "/v/0/vendor/xterm.mjs": true, "/favicon.ico": false} {
		for _, accepted := range []string{"gzip", ""} {
			r := httptest.NewRequest("GET", "http://localhost"+path, nil)
			r.Header.Set("Accept-Encoding", accepted)
			w := httptest.NewRecorder()
			s.Handler(server.Listener{Token: token}).ServeHTTP(w, r)
			if zipped := w.Header().Get("Content-Encoding") == "gzip"; zipped != (want && accepted != "") {
				t.Errorf("%s, accepted %q: Content-Encoding %q", path, accepted, w.Header().Get("Content-Encoding"))
			}
		}
	}
}

// What the page is made of is kept by browsers, and what it is now is asked for each time.
func TestPageCaching(t *testing.T) {
	t.Parallel()
	handler := server.New(server.Config{}).Handler(server.Listener{Token: token})
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
		return w
	}
	document := get("/")
	module := regexp.MustCompile(`/v/[0-9a-f]+/page\.mjs`).FindString(document.Body.String())
	for path, want := range map[string]string{
		"/": "no-store", module: "private, max-age=31536000, immutable",
		"/v/1/page.mjs":      "no-store", // of a page that another version has served
		"/icon.svg?needs=12": "private, max-age=86400",
	} {
		if w := get(path); w.Code != 200 || w.Header().Get("Cache-Control") != want {
			t.Errorf("GET %s: %d, Cache-Control: %s", path, w.Code, w.Header().Get("Cache-Control"))
		}
	}
	var app struct {
		StartURL string `json:"start_url"`
		Icons    []struct{ Src string }
	}
	if err := json.Unmarshal(get("/manifest.webmanifest").Body.Bytes(), &app); err != nil || len(app.Icons) != 1 || get(app.Icons[0].Src).Code != 200 || get(app.StartURL).Code != 200 {
		t.Errorf("what a phone installs: %+v, %v", app, err)
	}
	for path, want := range map[string]string{"/icon.svg": "", "/icon.svg?needs=3": ">3<", "/icon.svg?needs=12": ">9+<", "/icon.svg?needs=<b>": ""} {
		text := get(path).Body.String()
		if has := strings.Contains(text, "<text"); has != (want != "") || !strings.Contains(text, want) || strings.Contains(text, "<b>") {
			t.Errorf("GET %s: %s", path, text)
		}
	}
}
