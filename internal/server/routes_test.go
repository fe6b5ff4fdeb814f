package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xeipuuv/gojsonschema"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/session"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

// The document that is checked in is the one that is served.
func TestOpenAPI(t *testing.T) {
	got, err := json.MarshalIndent(server.OpenAPI(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const path = "../../docs/openapi.json"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("docs/openapi.json is another (-there +made); go test ./internal/server -run OpenAPI -update writes it\n%s", d)
	}
}

// contract is the OpenAPI document as what answers are held against.
type contract struct {
	t     *testing.T
	doc   map[string]any
	asked map[string]bool // operations
}

func newContract(t *testing.T) *contract {
	b, err := json.Marshal(server.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	c := &contract{t: t, asked: map[string]bool{}}
	if err := json.Unmarshal(b, &c.doc); err != nil {
		t.Fatal(err)
	}
	for _, schema := range at(c.doc, "components", "schemas").(map[string]any) { // what is not described is an error here
		schema.(map[string]any)["additionalProperties"] = false
	}
	return c
}

func at(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// operation is what the document says of a request.
func (c *contract) operation(method, path string) (id string, op map[string]any) {
	for template, item := range at(c.doc, "paths").(map[string]any) {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(template), `\{id\}`, "[^/]+") + "$"
		if op, is := at(item, strings.ToLower(method)).(map[string]any); is && regexp.MustCompile(pattern).MatchString(path) {
			return op["operationId"].(string), op
		}
	}
	c.t.Fatalf("the document has no %s %s", method, path)
	return "", nil
}

// holds checks an answer against the document.
func (c *contract) holds(method, path string, status int, kind string, body []byte) {
	c.t.Helper()
	path, _, _ = strings.Cut(path, "?")
	id, op := c.operation(method, path)
	c.asked[id] = true
	answer, is := at(op, "responses", strconv.Itoa(status)).(map[string]any)
	if ref, refers := answer["$ref"].(string); refers {
		answer, is = at(c.doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
	}
	if !is {
		c.t.Errorf("%s %s: the document has no answer %d", method, path, status)
		return
	}
	kind, _, _ = strings.Cut(kind, ";")
	content, is := at(answer, "content", kind).(map[string]any)
	if !is {
		c.t.Errorf("%s %s answers %s, which the document has not", method, path, kind)
		return
	}
	if kind != "application/json" {
		return
	}
	schema := map[string]any{"allOf": []any{content["schema"]}, "components": c.doc["components"]}
	result, err := gojsonschema.Validate(gojsonschema.NewGoLoader(schema), gojsonschema.NewBytesLoader(body))
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	for _, e := range result.Errors() {
		c.t.Errorf("%s %s answered %d otherwise than the document says: %s", method, path, status, e)
	}
}

// caller asks by the unix socket as any program does.
func caller(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
}

// Every route, over a real hub on a real tmux, answers what the document says, with
// the status that is expected.
func TestRoutes(t *testing.T) {
	t.Parallel()
	web := session.Keyed("worker", "a/b")
	s := newShop(t, session.Single("api"), web)
	s.serve()
	c, client := newContract(t), caller(s.socket())
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
	ask(200, "GET", "/metrics", "", `agentform_tokens_total{agent="claude",kind="input",model="claude-opus-4-8",session="session.api"} 1e+06`,
		`agentform_cost_total{agent="claude",model="claude-opus-4-8",session="session.api"} 30`, `agentform_unpriced_tokens_total{agent="claude",model="mine",session="session.api"} 7`)
	ask(200, "GET", "/v1/events", "")
	ask(200, "GET", "/v1/events?session=api&session=worker", "")
	ask(200, "GET", "/v1/openapi.json", "", `"openapi": "3.1.0"`)
	ask(200, "GET", "/v1/access", "", `"scope": "operate"`, `"by": "ada"`)
	ask(200, "POST", "/v1/links", `{"read_only": true}`, `#login=`, `"scope": "read"`)
	ask(401, "POST", "/v1/login", `{"code": "wrong"}`, `"unauthorized"`)
	ask(200, "POST", "/v1/logout", "", `"by": ""`)
	ask(409, "GET", "/v1/sessions/api/diff", "", `"no_diff"`)
	ask(409, "POST", "/v1/sessions/api/land", `{"method": "squash"}`, `"not_landed"`)
	ask(400, "POST", "/v1/sessions/api/land", `{"method": "moon"}`, "merge, squash, rebase or pr")
	ask(426, "GET", "/v1/sessions/api/terminal", "", `"upgrade_required"`)
	ask(200, "GET", "/healthz", "", `"status": "ok"`)
	ask(200, "GET", "/readyz", "", `"status": "ok"`)
	ask(200, "GET", "/metrics", "", `agentform_sessions{state="running"} 2`, "agentform_look_duration_seconds_count", `agentform_build_info{go="go`,
		`agentform_session_restarts_total{session="session.api"} 0`, `agentform_api_requests_total{operation="getPlan",status="200"} 1`)

	ask(200, "POST", "/v1/sessions/api/send", `{"text": "hello"}`, `"outcome"`)
	ask(200, "POST", "/v1/sessions/api/send", `{"key": "Enter"}`, `"unverified"`)
	ask(409, "POST", "/v1/sessions/api/answer", `{"answer": "yes"}`, `"no_question"`)
	ask(400, "POST", "/v1/sessions/api/answer", `{"answer": " "}`, `"bad_request"`)
	s.until("what was typed is on the screen", func() bool {
		d, err := s.client.Data(t.Context(), "api", 0)
		return err == nil && strings.Contains(d.Screen.Text, "hello")
	})
	ask(200, "POST", "/v1/sessions/api/pause", "", `"state": "paused"`)
	ask(409, "POST", "/v1/sessions/api/send", `{"text": "hello"}`, `"paused"`, "resume")
	ask(200, "POST", "/v1/sessions/api/resume", "{}", `"state": "running"`)
	ask(409, "POST", "/v1/sessions/api/restart-session", "", `"not_stale"`, "POST restart")
	ask(409, "POST", "/agents/api/restart-session", "", `"not_stale"`)
	ask(409, "POST", "/v1/agents/api/restart-session", "", `"not_stale"`)
	s.kill("api")
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

// What cannot be done is an error of one shape, and says what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newShop(t, session.Indexed("pool", 0), session.Indexed("pool", 1))
	s.serve()
	client := caller(s.socket())
	for _, x := range []struct {
		method, path, kind, body string
		status                   int
		code                     string
	}{
		{"GET", "/v1/nothing", "", "", 404, "not_found"},
		{"GET", "/v1/sessions/", "", "", 404, "not_found"},
		{"GET", "/v1/sessions/nobody", "", "", 404, "not_found"},
		{"GET", "/v1/sessions/pool", "", "", 400, "ambiguous"},
		{"GET", "/v1/sessions/%00", "", "", 400, "bad_request"},
		{"GET", "/v1/sessions/%ff%fe", "", "", 400, "bad_request"},
		{"GET", "/v1/sessions/" + strings.Repeat("a", 600), "", "", 400, "bad_request"},
		{"GET", "/v1/sessions/..%2f..%2fetc", "", "", 404, "not_found"},
		{"GET", "/v1/sessions/pool%5B0%5D/data?tail=0", "", "", 400, "bad_request"},
		{"GET", "/v1/sessions/pool%5B0%5D/data?tail=x", "", "", 400, "bad_request"},
		{"GET", "/v1/sessions/pool%5B0%5D/data?tail=1&tail=2", "", "", 400, "bad_request"},
		{"GET", "/v1/sessions?fresh=maybe", "", "", 400, "bad_request"},
		{"GET", "/v1/sessions?frsh=true", "", "", 400, "bad_request"},
		{"GET", "/v1/sessions?%zz", "", "", 400, "bad_request"},
		{"GET", "/v1/sessions", "application/json", "{}", 400, "bad_request"},
		{"GET", "/v1/events?after=nonsense", "", "", 400, "bad_request"},
		{"GET", "/v1/events?after=a.b", "", "", 400, "bad_request"},
		{"GET", "/v1/events?after=a.1.", "", "", 400, "bad_request"},
		{"GET", "/v1/events?after=a.b.1", "", "", 400, "bad_request"},
		{"GET", "/v1/events?after=A.1.1", "", "", 400, "bad_request"},
		{"GET", "/v1/events?session=nobody", "", "", 404, "not_found"},
		{"DELETE", "/v1/sessions", "", "", 405, "method_not_allowed"},
		{"OPTIONS", "/v1/sessions", "", "", 405, "method_not_allowed"},
		{"GET", "/v1/sessions/pool%5B0%5D/stop", "", "", 405, "method_not_allowed"},
		{"POST", "/v1/sessions/nobody/stop", "", "", 404, "not_found"},
		{"POST", "/v1/sessions/pool/stop", "", "", 400, "ambiguous"},
		{"POST", "/v1/sessions/pool%5B0%5D/explode", "", "", 404, "not_found"},
		{"POST", "/v1/sessions/pool%5B0%5D/stop?force=1", "", "", 400, "bad_request"},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", "application/json", `{"afterturn": true}`, 400, "bad_request"},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", "application/json", `{"timeout": "5m"}`, 400, "bad_request"},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", "application/json", `{"after_turn": true, "timeout": "-5m"}`, 400, "bad_request"},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", "application/json", `{} {}`, 400, "bad_request"},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", "application/json", `[`, 400, "bad_request"},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", "application/x-www-form-urlencoded", `{}`, 415, "unsupported_media_type"},
		{"POST", "/v1/sessions/pool%5B0%5D/send", "application/json", ``, 400, "bad_request"},
		{"POST", "/v1/sessions/pool%5B0%5D/send", "application/json", `{"text": "a", "key": "b"}`, 400, "bad_request"},
		{"POST", "/v1/sessions/pool%5B0%5D/send", "application/json", `{"key": "NoSuchKey"}`, 400, "bad_request"},
		{"POST", "/v1/sessions/pool%5B0%5D/send", "application/json", `{"text": "` + strings.Repeat("x", 64<<10) + `"}`, 413, "too_large"},
	} {
		q, err := http.NewRequestWithContext(t.Context(), x.method, "http://localhost"+x.path, strings.NewReader(x.body))
		if err != nil {
			t.Fatal(err)
		}
		if x.kind != "" {
			q.Header.Set("Content-Type", x.kind)
		}
		status, e := refused(t, client, q)
		if status != x.status || e.Code != x.code || e.Message == "" {
			t.Errorf("%s %.60s %.40s: %d %+v, want %d %s", x.method, x.path, x.body, status, e, x.status, x.code)
		}
	}
}

// refused is the error that a request is answered with.
func refused(t *testing.T, client *http.Client, q *http.Request) (int, api.Error) {
	t.Helper()
	r, err := client.Do(q)
	if err != nil {
		t.Fatalf("%s %s: %v", q.Method, q.URL, err)
	}
	defer r.Body.Close()
	var x struct{ Error api.Error }
	if err := json.NewDecoder(r.Body).Decode(&x); err != nil {
		t.Errorf("%s %s: %d, and no error: %v", q.Method, q.URL, r.StatusCode, err)
	}
	return r.StatusCode, x.Error
}

// Two that ask at once for a stale session make one start of it.
func TestRestartedOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, session.Single("api"))
	s.serve()
	s.kill("api")
	ended := make(chan error)
	const n = 5
	for range n {
		go func() { _, err := s.client.Tell(t.Context(), "api", "restart-session", nil); ended <- err }()
	}
	done := 0
	for range n {
		if err := <-ended; err == nil {
			done++
		}
	}
	x, err := s.client.Session(t.Context(), "api")
	if err != nil || done == 0 || x.Restarts != 1 {
		t.Errorf("%d of %d say that it was done, and it was started again %d times: %v", done, n, x.Restarts, err)
	}
}

// What was asked for is finished, also when whoever asked has gone.
func TestAskedAndGone(t *testing.T) {
	t.Parallel()
	s := newShop(t, session.Single("api"))
	s.serve()
	c, err := net.Dial("unix", s.socket())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "POST /v1/sessions/api/stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	s.until("it is stopped", func() bool { return s.stateIs("api", session.StateStopped) })
}
