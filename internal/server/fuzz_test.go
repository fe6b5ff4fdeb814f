package server

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/price"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// sham is a hub with two sessions of a pool, of which it says always the same: one
// lives, one is stale. It keeps what it was asked to do.
type sham struct {
	sessions []status.Input
	hands    []engine.Override
	typed    []session.Input
}

func newSham() *sham {
	h := &sham{}
	for i, state := range []session.State{session.StateRunning, session.StateStale} {
		alive := state == session.StateRunning
		r := session.Record{ID: strings.Repeat("ab"[i:i+1], 8), Address: session.Indexed("pool", i)}
		h.sessions = append(h.sessions, status.Input{Record: &r, Diagnosis: plan.Diagnosis{State: state, Alive: &alive}})
	}
	return h
}

func (h *sham) Snapshot() *hub.Snapshot {
	return &hub.Snapshot{At: time.Unix(1, 0), Sessions: h.sessions}
}

func (h *sham) Look(context.Context) (*hub.Snapshot, error) { return h.Snapshot(), nil }

func (h *sham) Events(context.Context, string) (iter.Seq[hub.Event], error) {
	return func(yield func(hub.Event) bool) {
		yield(hub.Event{ID: "life.1.1", Event: history.Event{Kind: history.StatusChanged, Address: "pool[0]"}})
	}, nil
}

func (h *sham) Do(_ context.Context, _ string, hand engine.Override) (plan.Plan, apply.Tally, error) {
	h.hands = append(h.hands, hand)
	return plan.Plan{}, apply.Tally{}, nil
}

func (*sham) Attach(session.Address) ([]string, error) { return nil, session.ErrGone }

func (h *sham) Capture(context.Context, session.Address, int) (string, error) { return "a line\n", nil }

func (h *sham) Send(_ context.Context, _ string, _ session.Address, in session.Input) (input.Outcome, error) {
	h.typed = append(h.typed, in)
	return input.Submitted, nil
}

func (h *sham) Answer(_ context.Context, _ string, _ session.Address, r input.Reply) (input.Answered, error) {
	h.typed = append(h.typed, session.Input{Text: r.Text})
	return input.Answered{}, nil
}

// Whatever is asked for in whatever words, the answer is one of the document's
// statuses, never a api.Failure of ours; a refusal has the shape of one; and nothing is
// done but what a POST that was answered with 200 asked for, to a session on record.
func FuzzRequest(f *testing.F) {
	for _, x := range routes() {
		for _, path := range x.paths() {
			f.Add(x.method, strings.ReplaceAll(path, "{id}", "pool%5B1%5D"), "", "", "")
		}
	}
	const kind = "application/json"
	for _, x := range []struct{ method, target, kind, body, last string }{
		{"POST", "/v1/sessions/pool%5B0%5D/stop", kind, `{"after_turn": true, "timeout": "5m"}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", kind, `{"after_turn": true, "timeout": "-1h"}`, ""},
		{"POST", "/v1/sessions/aaaaaaaa/restart", kind + "; charset=utf-8", `{"fresh": true, "wait": true}`, ""},
		{"POST", "/agents/pool%5B1%5D/restart-session", kind, `{"fresh": false, "wait": null}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/send", kind, `{"text": "\u001b]0;x\u0007", "no_enter": true}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/send", kind, `{"key": "C-c"}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/answer", kind, `{"answer": "yes", "question": "x"}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/send", kind, `{"text": "a", "text": "b", "Key": "Enter"}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/send", kind, `{"key": "nope"}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/send", "text/plain", `{"text": "a"}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", "", `{}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", kind, `{"timeout": "5m"}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", kind, `{"x": 1}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", kind, `{} {}`, ""},
		{"POST", "/v1/sessions/pool%5B0%5D/stop?force=true", kind, "", ""},
		{"POST", "/v1/sessions/pool%5B0%5D/stop", "", "", ""},
		{"POST", "/v1/sessions/pool%5B0%5D/pause", "", "", ""},
		{"POST", "/v1/sessions/pool/stop", "", "", ""},
		{"POST", "/v1/sessions/pool%5B0%5D/start", kind, "[[[[[[[[", ""},
		{"GET", "/v1/events?session=pool%5B0%5D&session=aaaaaaaa&after=life.1.1", "", "", ""},
		{"GET", "/v1/events", "", "", "life.18446744073709551616.1"},
		{"GET", "/v1/sessions/pool%5B0%5D/data?tail=100000", "", "", ""},
		{"GET", "/v1/sessions/..%2f%00?fresh=true&%zz", "", "", ""},
	} {
		f.Add(x.method, x.target, x.kind, x.body, x.last)
	}
	reader := activity.New(f.TempDir(), f.TempDir(), agent.For)
	documented := map[int]bool{http.StatusOK: true, http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusMethodNotAllowed: true, http.StatusBadRequest: true}
	for _, r := range routes() {
		for _, status := range append(r.fails, r.also) {
			documented[status] = documented[status] || status != http.StatusInternalServerError
		}
	}
	f.Fuzz(func(t *testing.T, method, target, kind, body, last string) {
		at, err := url.ParseRequestURI(target)
		if err != nil || at.Host != "" || !strings.HasPrefix(at.Path, "/") {
			return // net/http answers it without us
		}
		hub := newSham()
		server := New(Config{Hub: hub, Activity: reader, Usage: usage.New(t.TempDir(), price.BuiltIn().Cost), Metrics: NewMetrics("test"), Folder: func(session.Record) string { return "" }, Project: "shop", By: "ada"})
		defer server.cancel()
		q, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+at.RequestURI(), strings.NewReader(body))
		if err != nil {
			return // as above
		}
		q.Header.Set("Content-Type", kind)
		q.Header.Set("Last-Event-ID", last)
		w := httptest.NewRecorder()
		server.Handler(Listener{}).ServeHTTP(w, q)

		moved := w.Code == http.StatusMovedPermanently || w.Code == http.StatusTemporaryRedirect || w.Code == http.StatusPermanentRedirect // the mux cleans a path
		if !documented[w.Code] && !moved {
			t.Errorf("%s %q %q: %d\n%s", method, target, body, w.Code, w.Body)
		}
		if w.Code >= 400 && w.Code != http.StatusServiceUnavailable {
			var x api.Failure
			if err := json.Unmarshal(w.Body.Bytes(), &x); err != nil || x.Error == nil || x.Error.Code == "" || x.Error.Message == "" {
				t.Errorf("%s %q: %d, and no error: %s", method, target, w.Code, w.Body)
			}
		}
		if at := bytes.IndexFunc(w.Body.Bytes(), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' }); at >= 0 {
			t.Errorf("%s %q: a control character at %d of the answer: %q", method, target, at, w.Body)
		}
		acts := len(hub.hands) + len(hub.typed)
		if acts == 0 {
			return
		}
		told, problem := orderOf(at, kind, body)
		if acts > 1 || w.Code != http.StatusOK || method != http.MethodPost || problem != "" {
			t.Fatalf("%s %q %q: %d, and it did %d things: %s", method, target, body, w.Code, acts, problem)
		}
		for _, h := range hub.hands {
			if v, is := verbsDo[told.verb]; !is || h.Desired != v.Desired || h.Restart != v.Restart || h.TurnLimit < 0 || h.TurnLimit > 0 && !h.AfterTurn ||
				len(h.Addresses) != 1 || h.Addresses[0] != told.session {
				t.Errorf("%s %q %q: it did %+v", method, target, body, h)
			}
		}
		for _, in := range hub.typed {
			if told.verb == "answer" && strings.TrimSpace(in.Text) != "" {
				continue
			}
			if told.verb != "send" || (in.Text == "") == (in.Key == "") || in.Key != "" && !input.IsKey(in.Key) || len(in.Text) > maxBody || !utf8.ValidString(in.Text) {
				t.Errorf("%s %q %q: it typed %+v", method, target, body, in)
			}
		}
	})
}

// verbsDo is what may be done for each verb.
var verbsDo = map[string]engine.Override{
	"start": {Desired: session.Running}, "restart": {Desired: session.Running, Restart: true}, "restart-session": {Desired: session.Running},
	"pause": {Desired: session.Paused}, "resume": {Desired: session.Running}, "stop": {Desired: session.Stopped},
}

// verbsSay are the fields that the body of each verb may have.
var verbsSay = map[string][]string{
	"start": {"wait"}, "restart": {"fresh", "wait"}, "restart-session": {"fresh", "wait"}, "pause": nil, "resume": nil,
	"stop": {"after_turn", "timeout"}, "send": {"text", "key", "no_enter"}, "answer": {"answer", "question"},
}

// ordered is what a request asks to have done.
type ordered struct {
	verb    string
	session session.Address
}

// orderOf reads a request that was carried out; problem is why it should not have been.
func orderOf(at *url.URL, kind, body string) (o ordered, problem string) {
	parts := strings.Split(at.EscapedPath(), "/")
	if len(parts) < 4 {
		return o, "the path names no session"
	}
	id, err := url.PathUnescape(parts[len(parts)-2])
	if err != nil {
		return o, err.Error()
	}
	if o.verb, err = url.PathUnescape(parts[len(parts)-1]); err != nil {
		return o, err.Error()
	}
	said, is := verbsSay[o.verb]
	if !is {
		return o, "there is no such verb"
	}
	address, _ := session.ParseAddress(id) // one that is none may be an id
	for _, k := range newSham().sessions {
		if id == k.Record.ID || address == k.Record.Address {
			o.session = k.Record.Address
		}
	}
	if o.session == "" {
		return o, id + " means no session, or several"
	}
	if at.RawQuery != "" {
		return o, "there is a query"
	}
	if body == "" {
		return o, ""
	}
	if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
		return o, "the body is no JSON by its type"
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil { // more than one value is an error, too
		return o, err.Error()
	}
	for name := range fields {
		if !slices.ContainsFunc(said, func(s string) bool { return strings.EqualFold(s, name) }) {
			return o, "there is no field " + name
		}
	}
	return o, ""
}
