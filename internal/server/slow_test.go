package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/test/pipe"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// flood is a hub to which something happens without end.
type flood struct{ Hub }

func (flood) Snapshot() *hub.Snapshot { return &hub.Snapshot{At: time.Now()} }

func (flood) Events(ctx context.Context, after string) (iter.Seq[hub.Event], error) {
	return func(yield func(hub.Event) bool) {
		n := 0
		_, _ = fmt.Sscanf(after, "life.%d.", &n) // without it from the first on
		for ctx.Err() == nil {
			n++
			e := hub.Event{ID: fmt.Sprintf("life.%d.1", n), Event: history.Event{Kind: history.StatusChanged, Excerpt: strings.Repeat("x", 40<<10)}}
			if !yield(e) {
				return
			}
		}
	}, nil
}

// silent is a hub to which nothing happens.
type silent struct{ flood }

func (silent) Events(ctx context.Context, _ string) (iter.Seq[hub.Event], error) {
	return func(func(hub.Event) bool) { <-ctx.Done() }, nil
}

// A reader that does not read is let go, keeps nobody else waiting, and can come back.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Hub: flood{}})
		gone := make(chan struct{})
		handler := s.Handler(Listener{})
		server := pipe.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler.ServeHTTP(w, r)
			gone <- struct{}{}
		}))
		listen := func(after string) net.Conn {
			t.Helper()
			c, err := pipe.Dial(t.Context(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: %s\r\n\r\n", after)
			return c
		}
		slow := listen("life.100.1")
		defer slow.Close()
		<-gone
		swift := listen("life.100.1")
		last := ""
		lines := bufio.NewReader(swift)
		for last != "life.400.1" {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("after %q: %v", last, err)
			}
			if id, is := strings.CutPrefix(strings.TrimSpace(line), "id: "); is {
				if last == "" && id != "life.101.1" {
					t.Errorf("after life.100.1 comes %s", id)
				}
				last = id
			}
		}
		swift.Close()
		<-gone
	})
}

// Where nothing happens there is a sign of life.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Hub: silent{}})
		server := pipe.Serve(t, s.Handler(Listener{}))
		r, err := server.Client().Get(server.URL + "/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		lines := bufio.NewScanner(r.Body)
		for beats := 0; beats < 3 && lines.Scan(); {
			if strings.HasPrefix(lines.Text(), ": ") {
				beats++
			}
		}
		if err := lines.Err(); err != nil {
			t.Error(err)
		}
	})
}

// One hub that does not look any more is distinguished from one that does.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Hub: asleep{}})
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "http://localhost/healthz", nil)
		s.Handler(Listener{}).ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"stuck"`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// The document of the fleet says why the hub is not well, and how many of its places are taken.
func TestFleetSaysHowTheHubIs(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 26, 0, 0, time.UTC)
	for want, s := range map[string]hub.Snapshot{
		"": {At: now.Add(-time.Minute)},
		"it has observed nothing since 2026-03-14T09:20:00Z":      {At: now.Add(-6 * time.Minute), Fault: io.EOF},
		"it repairs nothing, since the state cannot be read: EOF": {At: now, Fault: io.EOF},
	} {
		if _, fault := healthOf(&s, now); fault != want {
			t.Errorf("%q, want %q", fault, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		New(Config{Hub: asleep{}}).Handler(Listener{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/v1/sessions", nil))
		var d api.StatusDocument
		if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || d.HubFault == "" || d.Places != (api.Places{Running: 4, MaxRunning: 6}) {
			t.Errorf("%v: %s", err, w.Body)
		}
	})
}

// What a hub says of itself is sent again when it has changed, though no session has.
func TestHubIsModified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &looked{}
		handler, tag := New(Config{Hub: h}).Handler(Listener{}), ""
		for _, x := range []struct {
			what string
			hub.Snapshot
			want int
		}{
			{"first", hub.Snapshot{At: time.Now()}, 200},
			{"the same", hub.Snapshot{At: time.Now()}, 304},
			{"the state cannot be read", hub.Snapshot{At: time.Now(), Fault: io.EOF}, 200},
			{"still", hub.Snapshot{At: time.Now(), Fault: io.EOF}, 304},
			{"it can", hub.Snapshot{At: time.Now()}, 200},
			{"another limit", hub.Snapshot{At: time.Now(), Plan: plan.Plan{Options: plan.Options{MaxRunning: 6}}}, 200},
		} {
			h.last = &x.Snapshot
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://localhost/v1/sessions", nil)
			r.Header.Set("If-None-Match", tag)
			handler.ServeHTTP(w, r)
			if tag = w.Header().Get("ETag"); w.Code != x.want || tag == "" {
				t.Errorf("%s: %d, want %d, ETag: %s", x.what, w.Code, x.want, tag)
			}
		}
	})
}

// looked is a hub that has looked.
type looked struct {
	flood
	last *hub.Snapshot
}

func (l *looked) Snapshot() *hub.Snapshot { return l.last }

// asleep is a hub that looked last an hour ago.
type asleep struct{ flood }

func (asleep) Snapshot() *hub.Snapshot {
	p := plan.Plan{Running: 4, Options: plan.Options{MaxRunning: 6}}
	return &hub.Snapshot{At: time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC), Plan: p} // bubbles begin in 2000
}

// What takes longer than anybody may take to send or to read is done, and answered.
func TestLongAct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := session.Single("api")
		snapshot := &hub.Snapshot{At: time.Now(), Sessions: []status.Input{{Record: &session.Record{Address: api, ID: "api-1"}}}}
		s := New(Config{Hub: slowly{snapshot: snapshot, wait: func() <-chan time.Time { return time.After(lookTime - time.Second) }}})
		server := pipe.NewUnstartedServer(s.Handler(Listener{}))
		server.Config.ReadTimeout = readTime
		server.Start()
		defer server.Close()
		client := &http.Client{Transport: pipe.Transport()}
		var all sync.WaitGroup
		ask := func(what string, send func() (*http.Response, error)) {
			all.Go(func() {
				r, err := send()
				if err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
				defer r.Body.Close()
				if r.StatusCode != http.StatusOK {
					t.Errorf("%s: %s", what, r.Status)
				}
			})
		}
		for what, body := range map[string]string{"without a body": "", "with an empty object": "{}"} {
			ask(what, func() (*http.Response, error) {
				return client.Post(server.URL+"/v1/sessions/api/stop", "application/json", strings.NewReader(body))
			})
		}
		ask("a look that takes long", func() (*http.Response, error) { return client.Get(server.URL + "/v1/sessions?fresh=true") })
		all.Wait()
	})
}

// slowly is a hub that takes its time, unless nobody waits any more.
type slowly struct {
	flood
	snapshot *hub.Snapshot
	wait     func() <-chan time.Time
}

func (h slowly) Snapshot() *hub.Snapshot { return h.snapshot }

func (h slowly) Look(ctx context.Context) (*hub.Snapshot, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-h.wait():
		return h.snapshot, nil
	}
}

func (h slowly) Do(ctx context.Context, _ string, _ engine.Override) (plan.Plan, apply.Tally, error) {
	_, err := h.Look(ctx)
	return plan.Plan{}, apply.Tally{}, err
}
