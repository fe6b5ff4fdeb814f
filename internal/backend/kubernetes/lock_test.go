package kubernetes

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/test/pipe"
)

// killed is an API server with one Lease. It is killed each time that it has made the Lease and
// not answered yet.
type killed struct {
	down time.Duration // how long it does not answer then

	mu    sync.Mutex
	lease map[string]any
	until time.Time
}

func (s *killed) end() time.Time { return time.Now().Add(s.down) }

func (s *killed) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	switch q.Method {
	case http.MethodPost:
		_ = json.NewDecoder(q.Body).Decode(&s.lease)
		s.lease["metadata"].(map[string]any)["resourceVersion"] = "1"
		s.until = s.end()
		panic(http.ErrAbortHandler)
	case http.MethodPut:
		_ = json.NewDecoder(q.Body).Decode(&s.lease)
	}
	if s.lease == nil {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
		return
	}
	_ = json.NewEncoder(w).Encode(s.lease)
}

// A lock whose request was done and not answered is taken, and not left until it expires.
func TestLockThatWasNotAnswered(t *testing.T) {
	for _, down := range []time.Duration{0, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := pipe.Serve(t, &killed{down: down})
			b, err := New(Settings{Config: &rest.Config{Host: s.URL, Dial: pipe.Dial}, Namespace: "default", Suffix: "shop"})
			if err != nil {
				t.Fatal(err)
			}
			if lease, err := b.Lock(t.Context(), backend.Info{ID: "mine"}); err != nil || lease != backend.Lease {
				t.Errorf("after %s: %s, %v", down, lease, err)
			}
			if holder, err := b.Holder(t.Context()); err != nil || holder.ID != "mine" {
				t.Errorf("after %s: held by %+v, %v", down, holder, err)
			}
		})
	}
}

// TestSilent checks that a server which never answers is not waited for.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pipe.Serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		b, err := New(Settings{Config: &rest.Config{Host: s.URL, Dial: pipe.Dial}, Namespace: "default", Suffix: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, _, err = b.Read(t.Context())
		if took := time.Since(began); err == nil || took > backend.AnswerTimeout+time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}
