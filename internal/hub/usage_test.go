package hub_test

import (
	"testing"
	"time"

	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// TestUsageWithoutAFile checks that a hub that starts knows what a session used whose agent's file is
// not there any more, as commands do.
func TestUsageWithoutAFile(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api"))
		price := func(string, session.Tokens, int64) (float64, bool) { return 0, false }
		if err := usage.New(r.dir, price).Work(usage.Of(r.record("api")), usage.Span{Begin: time.Now(), End: time.Now().Add(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		h, _ := r.hub(func(c *hub.Config) { c.Usage = usage.New(r.dir, price) })
		time.Sleep(time.Minute)
		if k, _ := h.Snapshot().Of("session.api"); k.Usage == nil || k.Usage.Worked != time.Minute {
			t.Errorf("used: %+v", k.Usage)
		}
	})
}
