package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/session"
)

// What has not changed is not sent again, and what has is.
func TestNotModified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, session.Single("api"), session.Single("web"))
		s.serve()
		client := s.caller()
		ask := func(path, tag string) (status int, h http.Header, text []byte) {
			t.Helper()
			q, err := http.NewRequestWithContext(t.Context(), "GET", "http://localhost"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tag != "" {
				q.Header.Set("If-None-Match", tag)
			}
			r, err := client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			if text, err = io.ReadAll(r.Body); err != nil {
				t.Fatal(err)
			}
			return r.StatusCode, r.Header, text
		}
		tags := map[string]string{}
		paths := []string{"/v1/sessions?ranked=true", "/v1/plan", "/v1/plan?none=false", "/v1/usage", "/v1/sessions/web", "/v1/sessions/web/data"}
		for _, path := range append(paths, "/v1/report?since=2026-01-01T00:00:00Z", "/v1/access") {
			status, h, text := ask(path, "")
			tag := h.Get("ETag")
			if status != 200 || tag == "" || len(text) == 0 || h.Get("Cache-Control") != "private, no-cache" {
				t.Fatalf("GET %s: %d, %d bytes, %v", path, status, len(text), h)
			}
			for _, known := range []string{tag, `"x", ` + tag, tag[len("W/"):], "*"} {
				if status, h, text := ask(path, known); status != 304 || len(text) > 0 || h.Get("ETag") != tag {
					t.Errorf("GET %s, known as %s: %d, %d bytes", path, known, status, len(text))
				}
			}
			if status, _, text := ask(path, `W/"x"`); status != 200 || len(text) == 0 {
				t.Errorf("GET %s, known as another: %d", path, status)
			}
			tags[path] = tag
		}
		for range 2 { // another look makes another plan, which says the same
			if _, err := s.client.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			if status, _, _ := ask("/v1/plan?fresh=true", tags["/v1/plan"]); status != 304 {
				t.Errorf("the same plan of another time: %d", status)
			}
		}
		s.kill("web")
		for _, path := range paths {
			status, _, text := ask(path, tags[path])
			if same := path == "/v1/usage"; same != (status == 304) {
				t.Errorf("GET %s when an agent has ended: %d, %d bytes", path, status, len(text))
			}
		}
		for path, want := range map[string]int{"/v1/sessions/nobody": 404, "/v1/sessions?version=": 200} {
			if status, h, _ := ask(path, ""); status != want || (h.Get("Cache-Control") == "no-store") != (want == 404) {
				t.Errorf("GET %s: %d, Cache-Control: %s", path, status, h.Get("Cache-Control"))
			}
		}
	})
}

// A reader that names the version that it has gets what has changed, and all from the next hub.
func TestChangedSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, session.Single("api"), session.Single("db"), session.Single("web"))
		s.serve()
		ask := func(version string) (d api.StatusDocument) {
			t.Helper()
			r, err := s.caller().Get("http://localhost/v1/sessions?ranked=true&fresh=true&version=" + version)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			if err := json.NewDecoder(r.Body).Decode(&d); err != nil || r.StatusCode != 200 {
				t.Fatalf("%d: %v", r.StatusCode, err)
			}
			if kept := r.Header.Get("Cache-Control") != "no-store"; kept != (d.Since == "") {
				t.Errorf("of changes since %q: Cache-Control: %s", d.Since, r.Header.Get("Cache-Control"))
			}
			return d
		}
		all := ask("")
		if len(all.Sessions) != 3 || all.Since != "" || all.Version == "" {
			t.Fatalf("%d sessions, version %q since %q", len(all.Sessions), all.Version, all.Since)
		}
		if d := ask(all.Version); len(d.Sessions) != 0 || d.Version != all.Version || d.Since != all.Version {
			t.Errorf("nothing has changed: %d sessions, version %s, since %s", len(d.Sessions), d.Version, d.Since)
		}
		s.kill("web")
		d := ask(all.Version)
		if len(d.Sessions) != 1 || d.Sessions[0].Name != "web" || len(d.Indexes) != 1 || d.Indexes[0] != 0 || d.Counts[session.StateStale] != 1 {
			t.Errorf("web needs somebody: %d sessions at %v, counts %v", len(d.Sessions), d.Indexes, d.Counts)
		}
		s.stop()
		s.serve()
		if d := ask(d.Version); len(d.Sessions) != 3 || d.Since != "" {
			t.Errorf("another hub has %d sessions, since %q", len(d.Sessions), d.Since)
		}
	})
}
