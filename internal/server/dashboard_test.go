package server_test

import (
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/server"
)

// The dashboard needs nothing from elsewhere, holds nothing of the project, and puts
// what agents say into the page as text.
func TestDashboard(t *testing.T) {
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
	asked := regexp.MustCompile(`(?:src|href|from)[= ]"(/[^"]+)"`)
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\bFunction\(|https?://| on[a-z]+=|style=`)
	seen := map[string]bool{"/": true}
	for next := []string{"/"}; len(next) > 0; next = next[1:] {
		status, kind, text := get("GET", next[0])
		if status != 200 || !strings.HasPrefix(kind, "text/") || text == "" {
			t.Errorf("GET %s: %d %s", next[0], status, kind)
		}
		if found := markup.FindString(text); found != "" {
			t.Errorf("%s has %q", next[0], found)
		}
		for _, m := range asked.FindAllStringSubmatch(text, -1) {
			if !seen[m[1]] {
				seen[m[1]] = true
				next = append(next, m[1])
			}
		}
	}
	if len(seen) != 4 {
		t.Errorf("it is made of %v", seen)
	}
	for _, x := range []string{"GET /dashboard", "GET /model.test.mjs", "GET /dashboard/index.html", "POST /"} {
		method, path, _ := strings.Cut(x, " ")
		if status, _, text := get(method, path); status != 404 || !strings.Contains(text, `"not_found"`) {
			t.Errorf("%s: %d %s", x, status, text)
		}
	}
}
