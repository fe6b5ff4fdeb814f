package server_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/test/crowd"
)

// What a page of two hundred sessions transfers is bounded: at first 60 KB, and 2 KB for an event.
func TestTransfer(t *testing.T) {
	t.Parallel()
	hub := crowd.NewHub(200)
	handler := server.New(server.Config{Hub: hub}).Handler(server.Listener{Token: token})
	get := func(path, tag string) (status, bytes int, text []byte, etag string) {
		t.Helper()
		q := httptest.NewRequest("GET", "http://localhost"+path, nil)
		q.Header.Set("Accept-Encoding", "gzip")
		q.Header.Set("Authorization", "Bearer "+token)
		q.Header.Set("If-None-Match", tag)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, q)
		bytes = w.Body.Len()
		var body io.Reader = w.Body
		if w.Header().Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatal(err)
			}
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return w.Code, bytes, text, w.Header().Get("ETag")
	}
	sessions := func(version string) (int, api.StatusDocument) {
		t.Helper()
		status, n, text, _ := get("/v1/sessions?ranked=true&version="+version, "")
		var d api.StatusDocument
		if err := json.Unmarshal(text, &d); err != nil || status != http.StatusOK {
			t.Fatalf("%d: %v", status, err)
		}
		return n, d
	}
	first, all := sessions("")
	_, plan, _, tag := get("/v1/plan?none=false", "")
	if len(all.Sessions) != 200 || first+plan > 60e3 {
		t.Errorf("the first documents of %d sessions: %d and %d bytes", len(all.Sessions), first, plan)
	}
	for query, want := range map[string]int{"": 200, "?none=true": 200, "?none=false": 0} {
		var d api.PlanDocument
		if _, _, text, _ := get("/v1/plan"+query, ""); json.Unmarshal(text, &d) != nil || len(d.Changes) != want || d.Summary.None != 200 {
			t.Errorf("GET /v1/plan%s: %d changes, summary %v", query, len(d.Changes), d.Summary)
		}
	}
	hub.Ask(150, "may I?")
	again, d := sessions(all.Version)
	status, same, _, _ := get("/v1/plan?none=false", tag)
	if len(d.Sessions) != 1 || d.Sessions[0].Detail != "may I?" || status != http.StatusNotModified || again+same > 2e3 {
		t.Errorf("after an event: %d sessions, %d bytes; of the plan %d, %d bytes", len(d.Sessions), again, status, same)
	}
	t.Logf("the first documents: %d and %d bytes; after an event: %d and %d", first, plan, again, same)
}

// A stream has no screens if they are not wanted.
func TestEventsWithoutExcerpts(t *testing.T) {
	for query, want := range map[string]bool{"": true, "?excerpts=true": true, "?excerpts=false": false} {
		synctest.Test(t, func(t *testing.T) {
			hub := crowd.NewHub(1)
			handler := server.New(server.Config{Hub: hub}).Handler(server.Listener{})
			ctx, cancel := context.WithCancel(t.Context())
			w, ended := httptest.NewRecorder(), make(chan struct{})
			go func() {
				defer close(ended)
				handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "http://localhost/v1/events"+query, nil))
			}()
			synctest.Wait()
			hub.Ask(0, "may I?")
			synctest.Wait()
			cancel()
			<-ended
			if text := w.Body.String(); !strings.Contains(text, "may I?") || strings.Contains(text, `"excerpt"`) != want {
				t.Errorf("GET /v1/events%s:\n%s", query, text)
			}
		})
	}
}
