//go:build real

package hub_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/notify"
	"github.com/agentform/agentform/internal/test/wait"
)

// Of hubs that are started at the same moment one supervises, and the others say who that
// is. When it is killed the next ones are as many.
func TestHubsAtOnce(t *testing.T) {
	h := newHost(t)
	h.apply(h.specs(2))
	for range 3 {
		var hubs []*exec.Cmd
		for range 5 {
			c := exec.Command(os.Args[0], "hub", h.dir)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			hubs = append(hubs, c)
		}
		gone := make(chan struct{})
		for _, c := range hubs {
			go func() { _ = c.Wait(); gone <- struct{}{} }()
		}
		for i := range len(hubs) - 1 {
			wait.Receive(t, fmt.Sprintf("%d of %d hubs have ended", i+1, len(hubs)), gone)
		}
		// The one that has the lock writes who it is a moment later.
		wait.For(t, "one of them says that it supervises", func() (any, bool) {
			holder, runs := hub.Running(filepath.Join(h.dir, "data"))
			return holder, runs && slices.ContainsFunc(hubs, func(c *exec.Cmd) bool { return c.Process.Pid == holder.PID })
		})
		for _, c := range hubs {
			_ = c.Process.Kill()
		}
		<-gone
		if lives, ok := h.all(); !ok {
			t.Errorf("something died with them: %+v", lives)
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
	wait.For(t, "it was started five times", func() (any, bool) {
		if r.alive("api") {
			r.rt.Kill(place("api"))
		}
		launched := r.launches("api")
		return fmt.Sprintf("%d times: %q", launched, r.events("api")), launched >= 5
	})
	wait.Receive(t, "the webhook is called", asked)
	began := time.Now()
	stop()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the hub took %s to end", took)
	}
}
