package agentform_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/test/turntest"
)

// TestTurns checks that the library says of the same histories as the hub when a turn has ended.
func TestTurns(t *testing.T) {
	for _, h := range turntest.Histories() {
		t.Run(h.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := robot(turntest.Prompt)
				turntest.Agent(&spec.Agent, h)
				l, rt := newLauncher(agent.For(spec.Agent))
				rt.Script("api", h.Steps...)
				began := time.Now()
				s, err := l.Launch(t.Context(), "api", spec)
				if err != nil {
					t.Fatal(err)
				}
				var at time.Duration
				for at == 0 && time.Since(began) < turntest.Long {
					time.Sleep(100 * time.Millisecond)
					o, err := s.Observe(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if o.TurnEnded {
						at = time.Since(began)
					}
				}
				if ended := at > 0; ended != (h.Known > 0) || ended && (at < h.Ends || at > h.Known+2*time.Second) {
					t.Errorf("ended after %v, want %v to %v", at, h.Ends, h.Known)
				}
			})
		})
	}
}
