package server_test

import (
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

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

// What cannot be done is an error of one shape, and says what to do.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, session.Indexed("pool", 0), session.Indexed("pool", 1))
		s.serve()
		client := s.caller()
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
			{"GET", "/v1/report?since=soon", "", "", 400, "bad_request"},
			{"GET", "/v1/events?after=nonsense", "", "", 400, "bad_request"},
			{"GET", "/v1/events?after=a.b", "", "", 400, "bad_request"},
			{"GET", "/v1/events?after=a.1.", "", "", 400, "bad_request"},
			{"GET", "/v1/events?after=a.b.1", "", "", 400, "bad_request"},
			{"GET", "/v1/events?after=A.1.1", "", "", 400, "bad_request"},
			{"GET", "/v1/events?session=nobody", "", "", 404, "not_found"},
			{"DELETE", "/v1/sessions", "", "", 405, "method_not_allowed"},
			{"OPTIONS", "/v1/sessions", "", "", 405, "method_not_allowed"},
			{"GET", "/v1/sessions/pool%5B0%5D/stop", "", "", 405, "method_not_allowed"},
			{"DELETE", "/v1/landing", "", "", 405, "method_not_allowed"},
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
			// One byte too long: more would still be written when the server closes the connection.
			{"POST", "/v1/sessions/pool%5B0%5D/send", "application/json", `{"text": "` + strings.Repeat("x", 64<<10+1-len(`{"text": ""}`)) + `"}`, 413, "too_large"},
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
	})
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
	synctest.Test(t, func(t *testing.T) {
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
	})
}

// What was asked for is finished, also when whoever asked has gone.
func TestAskedAndGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, session.Single("api"))
		s.serve()
		c, err := s.connect(t.Context())
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
	})
}
