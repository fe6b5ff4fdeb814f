//go:build real

package hub_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/notify"
)

// Of hubs that are started at the same moment one supervises, and the others say who that
// is. When it is killed the next ones are as many.
func TestHubsAtOnce(t *testing.T) {
	h := newHost(t)
	h.apply(h.specs(2))
	for range 3 {
		var hubs []*exec.Cmd
		var ended atomic.Int64
		for range 5 {
			c := exec.Command(os.Args[0], "hub", h.dir)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			hubs = append(hubs, c)
		}
		gone := make(chan struct{})
		for _, c := range hubs {
			go func() { _ = c.Wait(); ended.Add(1); gone <- struct{}{} }()
		}
		for range len(hubs) - 1 {
			select {
			case <-gone:
			case <-time.After(time.Minute):
				t.Fatalf("%d of %d hubs have ended", ended.Load(), len(hubs))
			}
		}
		// The one that has the lock writes who it is a moment later.
		h.until("one of them says that it supervises", func() bool {
			holder, runs := hub.Running(filepath.Join(h.dir, "data"))
			return runs && slices.ContainsFunc(hubs, func(c *exec.Cmd) bool { return c.Process.Pid == holder.PID })
		})
		for _, c := range hubs {
			_ = c.Process.Kill()
		}
		<-gone
		if !h.all() {
			t.Error("something died with them")
		}
	}
}

// A webhook that never answers keeps the hub from nothing.
func TestWebhookThatHangs(t *testing.T) {
	r := newRoom(t)
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		asked <- struct{}{}
		select {
		case <-answer:
		case <-q.Context().Done():
		}
	}))
	defer server.Close()
	defer close(answer)
	ctx, cancel := context.WithCancel(t.Context())
	n := notify.New(ctx, notify.Config{Dir: r.dir, Targets: []notify.Target{{Name: "chat", Webhook: server.URL, On: []string{"escalated"}}}})
	defer func() { cancel(); n.Close() }()

	quick := r.spec("api")
	quick.Restart.Attempts, quick.Restart.EscalateAfter, quick.Restart.Backoff.Initial, quick.Restart.Backoff.Factor = 1000, 1, 1, 1
	r.apply(quick, r.spec("web"))
	_, stop := r.hub(func(c *hub.Config) { c.Notify = n.Send })
	deadline := time.Now().Add(time.Minute)
	for launched := 1; launched < 5; {
		if r.alive("api") {
			r.rt.Kill(place("api"))
		}
		if launched = r.launches("api"); time.Now().After(deadline) {
			t.Fatalf("it was started %d times: %q", launched, r.events("api"))
		}
		time.Sleep(20 * time.Millisecond)
	}
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Error("the webhook was never called")
	}
	began := time.Now()
	stop()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the hub took %s to end", took)
	}
}
