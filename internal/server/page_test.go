package server_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

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
	asked := regexp.MustCompile(`(?:src|href|from)[= ]"(/[^"]+)"|import\("(/[^"]+)"\)`)
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\bFunction\(|"https?://| on[a-z]+="| style="|dangerously`)
	var size bytes.Buffer
	zip := gzip.NewWriter(&size)
	seen := map[string]bool{"/": true}
	for next := []string{"/"}; len(next) > 0; next = next[1:] {
		status, kind, text := get("GET", next[0])
		if status != 200 || !strings.HasPrefix(kind, "text/") || text == "" {
			t.Errorf("GET %s: %d %s", next[0], status, kind)
		}
		_, _ = io.WriteString(zip, text) // to a buffer
		if strings.HasPrefix(next[0], "/vendor/") {
			continue
		}
		if found := markup.FindString(text); found != "" {
			t.Errorf("%s has %q", next[0], found)
		}
		for _, m := range asked.FindAllStringSubmatch(text, -1) {
			if at := m[1] + m[2]; !seen[at] {
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
	if _, _, text := get("GET", "/vendor/LICENSES"); !strings.Contains(text, "@xterm/xterm 6.0.0") {
		t.Error("the licenses of the vendored modules are missing")
	}
}
