package hub_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/test/turntest"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// TestTurns checks that the hub, wait, next and the need that page and API show say of the same
// histories when a turn has ended.
func TestTurns(t *testing.T) {
	for _, h := range turntest.Histories() {
		t.Run(h.Name, func(t *testing.T) {
			in(t, func(r *room) {
				spec := r.spec("api", func(s *session.Spec) {
					turntest.Agent(&s.Agent, h)
					s.Health.Interval = session.Duration(time.Second)
					s.Prompt = session.PromptOf(turntest.Prompt)
				})
				r.rt.Script(place("api"), h.Steps...)
				began := time.Now()
				r.apply(spec) // first: a hub without sessions looks every ten seconds
				hub, _ := r.hub()
				saw := map[string]time.Duration{}
				see := func(who string, at time.Time, ended bool) {
					if _, before := saw[who]; ended && !before {
						saw[who] = at.Sub(began)
					}
				}
				commands := fleet.New(fleet.Config{
					Engine: r.open("ada"), Activity: activity.New(r.dir, r.dir, agent.For), DataDir: r.dir, Log: slog.New(slog.DiscardHandler),
					Supervisor: func() (state.Holder, bool) { return state.Holder{}, true },
				})
				for time.Since(began) < turntest.Long {
					time.Sleep(100 * time.Millisecond)
					now := time.Now()
					if snap := hub.Snapshot(); snap != nil && len(snap.Sessions) > 0 {
						doc := status.Of(snap.Sessions[0])
						see("page", now, doc.Needs != nil && doc.Needs.Reason == string(follow.NeedsWork))
					}
					seen, err := commands.Look(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					k := seen.Of("session.api")
					sight := status.Followed(k, status.Of(k))
					see("wait", now, sight.Verdict(follow.Turn) == follow.Reached)
					needs := follow.Needs([]follow.Sight{sight})
					see("next", now, len(needs) > 0 && needs[0].Reason == follow.NeedsWork)
				}
				for _, e := range r.history("api") {
					see("hub", e.Time, e.Kind == history.TurnEnded)
				}
				for _, who := range []string{"hub", "wait", "next", "page"} {
					at, ended := saw[who]
					switch {
					case ended != (h.Known > 0):
						t.Errorf("%s: ended: %v", who, ended)
					case ended && (at < h.Ends || at > h.Known+2*time.Second):
						t.Errorf("%s: ended after %v, want %v to %v", who, at, h.Ends, h.Known)
					}
				}
			})
		})
	}
}
