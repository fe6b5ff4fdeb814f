//go:build real

package server_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// Every route, over a real hub on a real tmux, answers what the document says, with
// the status that is expected.
func TestRoutes(t *testing.T) {
	t.Parallel()
	web := session.Keyed("worker", "a/b")
	s := newRealShop(t, session.Single("api"), web)
	s.serve()
	c, client := newContract(t), s.caller()
	ask := func(status int, method, path, body string, has ...string) {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			q.Header.Set("Content-Type", "application/json")
		}
		r, err := client.Do(q)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		defer r.Body.Close()
		if r.Header.Get("Content-Type") == "text/event-stream; charset=utf-8" {
			c.holds(method, path, r.StatusCode, r.Header.Get("Content-Type"), nil)
			return
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		if r.StatusCode != status {
			t.Errorf("%s %s: %d, want %d: %s", method, path, r.StatusCode, status, text)
		}
		for _, h := range has {
			if !bytes.Contains(text, []byte(h)) {
				t.Errorf("%s %s has no %s:\n%s", method, path, h, text)
			}
		}
		c.holds(method, path, r.StatusCode, r.Header.Get("Content-Type"), text)
	}
	ask(200, "GET", "/v1/sessions", "", `"session_alive": true`, `"supervisor": "running"`, `"running": 2`)
	ask(200, "GET", "/v1/sessions?fresh=true", "")
	ask(200, "GET", "/v1/agents", "", `"session_alive": true`)
	one, err := s.client.Session(t.Context(), "api")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"api", "session.api", one.ID, "worker%5B%22a%2Fb%22%5D", "worker", "session.worker%5B%22a%2Fb%22%5D"} {
		ask(200, "GET", "/v1/sessions/"+name, "", `"session_alive": true`, `"look_by_hand"`)
	}
	ask(200, "GET", "/v1/agents/api", "", `"session_alive": true`)
	ask(200, "GET", "/v1/sessions/api/data?tail=1", "", `"text": "ready"`, `"session_alive": true`)
	ask(200, "GET", "/v1/agents/api/data", "")
	ask(200, "GET", "/v1/plan", "", `"action": "none"`)
	used := `{"session":"session.api","agent":"claude","run":"1","file":"f","file_id":"","read":1,"answers":[` +
		`"2026-03-14T09:15:00Z - 0 1000000 0 0 0 1000000 0 claude-opus-4-8","2026-03-14T09:15:00Z - 0 7 0 0 0 0 0 mine"]}`
	if err := os.MkdirAll(filepath.Join(s.dir, "data", "usage"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "data", "usage", "gone-1f2e3d4c.jsonl"), []byte(used+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask(200, "GET", "/v1/usage", "", `"name": "session.api"`, `"cost": 30`, `"unpriced": 7`)
	ask(200, "GET", "/v1/usage?by=model&since=2026-01-01T00:00:00Z", "", `"name": "claude-opus-4-8"`)
	ask(200, "GET", "/v1/usage?since=2026-12-01T00:00:00Z", "", `"usage": []`)
	ask(400, "GET", "/v1/usage?by=moon", "", "by must be session, agent, model or day")
	ask(400, "GET", "/v1/usage?since=soon", "", "since must be a time")
	ask(200, "GET", "/v1/report?since=2026-12-01T00:00:00Z&fresh=true", "", `"project": "shop"`, `"since": "2026-12-01T00:00:00Z"`)
	ask(200, "GET", "/v1/report", "", `"supervisor": "running"`)
	ask(400, "GET", "/v1/report?since=soon", "", "since must be a time")
	ask(200, "GET", "/metrics", "", `agentform_tokens_total{agent="claude",kind="input",model="claude-opus-4-8",session="session.api"} 1e+06`,
		`agentform_cost_total{agent="claude",model="claude-opus-4-8",session="session.api"} 30`, `agentform_unpriced_tokens_total{agent="claude",model="mine",session="session.api"} 7`)
	ask(200, "GET", "/v1/events", "")
	ask(200, "GET", "/v1/events?session=api&session=worker", "")
	ask(200, "GET", "/v1/openapi.json", "", `"openapi": "3.1.0"`)
	ask(200, "GET", "/v1/access", "", `"scope": "operate"`, `"by": "ada"`)
	ask(200, "POST", "/v1/links", `{"read_only": true}`, `#login=`, `"scope": "read"`)
	ask(401, "POST", "/v1/login", `{"code": "wrong"}`, `"unauthorized"`)
	ask(200, "POST", "/v1/logout", "", `"by": ""`)
	ask(200, "GET", "/v1/logins", "", `"logins": []`, `"problem": ""`)
	ask(404, "POST", "/v1/logins/nobody/end", "{}", `"not_found"`)
	ask(409, "GET", "/v1/sessions/api/diff", "", `"no_diff"`)
	ask(409, "POST", "/v1/sessions/api/land", `{"method": "squash"}`, `"not_landed"`)
	ask(400, "POST", "/v1/sessions/api/land", `{"method": "moon"}`, "merge, squash, rebase or pr")
	ask(409, "POST", "/v1/sessions/api/refresh", "", `"not_landed"`)
	ask(409, "GET", "/v1/landing?verified=true", "", `"not_landed"`)
	ask(409, "POST", "/v1/landing", `{"steps": [{"address": "session.api", "tree": "4b825dc"}]}`, `"not_landed"`)
	ask(426, "GET", "/v1/sessions/api/terminal", "", `"upgrade_required"`)
	ask(200, "GET", "/healthz", "", `"status": "ok"`)
	ask(200, "GET", "/readyz", "", `"status": "ok"`)
	ask(200, "GET", "/metrics", "", `agentform_sessions{state="running"} 2`, "agentform_look_duration_seconds_count", `agentform_build_info{go="go`,
		`agentform_session_restarts_total{session="session.api"} 0`, `agentform_api_requests_total{operation="getPlan",status="200"} 1`)

	ask(200, "POST", "/v1/sessions/api/send", `{"text": "hello"}`, `"outcome"`)
	ask(200, "POST", "/v1/sessions/api/send", `{"key": "Enter"}`, `"unverified"`)
	ask(409, "POST", "/v1/sessions/api/answer", `{"answer": "yes"}`, `"no_question"`)
	ask(400, "POST", "/v1/sessions/api/answer", `{"answer": " "}`, `"bad_request"`)
	wait.For(t, "what was typed is on the screen", func() (any, bool) {
		d, err := s.client.Data(t.Context(), "api", 0)
		return []any{d.Screen.Text, err}, err == nil && strings.Contains(d.Screen.Text, "hello")
	})
	ask(200, "POST", "/v1/sessions/api/pause", "", `"state": "paused"`)
	ask(409, "POST", "/v1/sessions/api/send", `{"text": "hello"}`, `"paused"`, "resume")
	ask(200, "POST", "/v1/sessions/api/resume", "{}", `"state": "running"`)
	ask(409, "POST", "/v1/sessions/api/restart-session", "", `"not_stale"`, "POST restart")
	ask(409, "POST", "/agents/api/restart-session", "", `"not_stale"`)
	ask(409, "POST", "/v1/agents/api/restart-session", "", `"not_stale"`)
	s.killReal("api")
	ask(409, "POST", "/v1/sessions/api/send", `{"text": "hello"}`, `"gone"`)
	ask(409, "POST", "/v1/sessions/api/resume", "", `"not_paused"`, "POST start")
	ask(409, "POST", "/v1/sessions/api/pause", "", `"gone"`)
	ask(200, "POST", "/agents/api/restart-session", "", `"action": "restart"`, `"outcome": "done"`, `"session_alive": true`)
	ask(200, "POST", "/v1/sessions/api/restart", `{"fresh": true, "wait": true}`, `"restarts": 2`)
	ask(200, "POST", "/v1/sessions/api/stop", `{"after_turn": true, "timeout": "1s"}`, `"state": "stopped"`, `"by": "ada"`)
	ask(200, "POST", "/v1/sessions/api/stop", "", `"actions": []`)
	ask(409, "POST", "/v1/sessions/api/restart-session", "", `"not_stale"`, "POST start")
	ask(200, "GET", "/v1/sessions/api", "", `"cause": "requested"`)
	ask(200, "POST", "/v1/sessions/api/start", `{"wait": true}`, `"state": "running"`)

	var missed []string
	for path, item := range at(c.doc, "paths").(map[string]any) {
		for _, op := range item.(map[string]any) {
			if id, is := at(op, "operationId").(string); is && !c.asked[id] {
				missed = append(missed, path)
			}
		}
	}
	slices.Sort(missed)
	if len(missed) > 0 {
		t.Errorf("nothing was asked of %q", missed)
	}
}
