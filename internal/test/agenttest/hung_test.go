//go:build agents

package agenttest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// TestHungByAgentform checks that the hub finds an agent hung whose model has stalled,
// though its spinner and timer go on, and not while the model streams.
func TestHungByAgentform(t *testing.T) {
	t.Parallel()
	const streams = 24 * time.Second // longer than hung_after, which is longer than an agent takes to begin
	for _, name := range []string{"claude", "codex", "gemini", "qwen"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			prompt := "go " + strings.Repeat("[[text I look.]] [[delay 2s]] [[text I read.]] [[delay 2s]] ", 6) + "[[stall]]"
			p := lab.Project(`  prompt = "` + prompt + `"
  health {
    interval     = "1s"
    start_period = "0s"
    hung_after   = "20s"
    on_unhealthy = "escalate"
  }`)
			p.Do("serve", "--detach")
			defer p.Run("serve", "--stop")
			p.Do("apply", "--auto-approve", "--wait")
			s := p.Until("it is found hung", func(s agenttest.Status) bool { return s.Health == "unhealthy" })
			if s.Activity != "working" {
				t.Errorf("hung, it is %s", s.Activity)
			}
			turns := lab.Model.Turns()
			if len(turns) == 0 {
				t.Fatalf("it is found hung before the model was asked:\n%s", p.Do("capture", "api"))
			}
			stalled := turns[0].At.Add(streams)
			var found []time.Time
			for line := range strings.Lines(p.Do("events", "api", "--json")) {
				var e struct {
					Time         time.Time
					Type, Reason string
				}
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Fatal(err)
				}
				if e.Type == "unhealthy" && e.Reason == "hung" {
					found = append(found, e.Time)
				}
				if e.Type == "first_turn_done" || e.Type == "turn_ended" {
					t.Errorf("its turn goes on, and %s is told", e.Type)
				}
			}
			if len(found) != 1 || found[0].Before(stalled) {
				t.Errorf("found hung at %v, want once, after the model stalled at %s", found, stalled)
			}
			p.Do("serve", "--stop")
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}
