package hub_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

// subscribed is a session whose agent uses a login in a directory.
func subscribed(dir string) func(*session.Spec) {
	return func(s *session.Spec) {
		s.Agent.Base, s.Agent.Env = agent.Claude, map[string]string{"CLAUDE_CONFIG_DIR": dir}
		s.Agent.Ready, s.Agent.StatusBarLines = `^❯ ?$`, 3
	}
}

// resetsAt is what Claude Code shows at a limit that ends at a time of day.
func resetsAt(at time.Time) string {
	return "You've hit your limit · resets " + strings.ToLower(at.Format("3:04PM")) + "\n\n❯ "
}

// TestLimitHoldsItsCredential checks that a session that meets a spent quota holds the starts of
// the others with the same login until it resets, also of one that has never run.
func TestLimitHoldsItsCredential(t *testing.T) {
	in(t, func(r *room) {
		end := time.Now().Add(3 * time.Hour)
		r.rt.Script(place("a"), sessiontest.Step{Screen: "❯ "}, sessiontest.Step{After: time.Minute, Screen: resetsAt(end)})
		for _, n := range []string{"b", "c", "d"} {
			r.rt.Script(place(n), sessiontest.Step{Screen: "❯ "})
		}
		mine, other := subscribed("/home/ada/.claude"), subscribed("/srv/claude")
		r.applyWith(plan.Options{MaxRunning: 3}, r.spec("a", mine), r.spec("b", mine), r.spec("c", other), r.spec("d", mine))
		if id := r.record("d").Run.Credential.ID; id == "" || id != r.record("a").Run.Credential.ID || id == r.record("c").Run.Credential.ID {
			t.Fatalf("the credential of what waits: %q", id)
		}
		h, stop := r.hub(func(c *hub.Config) { c.MaxRunning = 4 })
		defer stop()
		time.Sleep(time.Second)
		if !r.alive("d") {
			t.Fatalf("d is not started: %q", r.events("d"))
		}
		time.Sleep(5 * time.Minute)
		for _, n := range []string{"b", "c", "d"} {
			r.rt.Kill(place(n))
		}
		time.Sleep(time.Hour)
		if r.alive("b") || !r.alive("c") || r.alive("d") {
			t.Errorf("b, c and d live: %t %t %t", r.alive("b"), r.alive("c"), r.alive("d"))
		}
		if got := h.Snapshot().Plan.Changes[1]; got.Reason != plan.ReasonBlockedAPI || !strings.Contains(got.Detail, "session.a met a limit of claude, /home/ada/.claude") || !got.Until.Equal(end) {
			t.Errorf("b is held: %+v", got)
		}
		if got := r.events("b", history.Held); len(got) == 0 || got[len(got)-1] != "held blocked_api" {
			t.Errorf("events of b: %q", got)
		}
		e := r.open("ada")
		defer e.Close()
		e.Quotas = func(now time.Time) map[string]plan.Quota { return hub.Quotas(r.dir, now) }
		_, tally, err := e.Override(r.t.Context(), engine.Override{Addresses: []session.Address{"session.b"}, Desired: session.Running}, nil)
		if err != nil || !r.alive("b") || len(tally.Warnings) != 1 || !strings.HasPrefix(tally.Warnings[0].Detail, "session.a met a limit of claude") {
			t.Errorf("a person starts b: %+v, %v", tally, err)
		}
		r.rt.Kill(place("b"))
		time.Sleep(2 * time.Hour)
		if !r.alive("b") || !r.alive("d") {
			t.Errorf("b and d live after it has reset: %t %t; %q", r.alive("b"), r.alive("d"), r.events("b"))
		}
	})
}

// TestOneNotificationOfALimit checks that people are notified once of a limit that sessions with
// one credential meet, once of its next end, and once for each other credential.
func TestOneNotificationOfALimit(t *testing.T) {
	in(t, func(r *room) {
		end := time.Now().Add(3 * time.Hour)
		later := end.Add(5 * time.Hour)
		var specs []session.Spec
		for i, n := range []string{"a", "b", "c"} {
			r.rt.Script(place(n), sessiontest.Step{Screen: "❯ "}, sessiontest.Step{After: time.Minute + time.Duration(i)*time.Minute, Screen: resetsAt(end)},
				sessiontest.Step{After: 4*time.Hour + time.Duration(i)*time.Minute, Screen: "❯ "}, sessiontest.Step{After: 5*time.Hour + time.Duration(i)*time.Minute, Screen: resetsAt(later)})
			specs = append(specs, r.spec(n, subscribed("/home/ada/.claude")))
		}
		r.rt.Script(place("d"), sessiontest.Step{Screen: "❯ "}, sessiontest.Step{After: 2 * time.Minute, Screen: resetsAt(end)})
		r.apply(append(specs, r.spec("d", subscribed("/srv/claude")))...)
		_, stop := r.hub()
		defer stop()
		time.Sleep(6 * time.Hour)
		var got []string
		r.mu.Lock()
		for _, e := range r.notified {
			if e.Event == "blocked_api" {
				got = append(got, e.Address+": "+e.Detail)
			}
		}
		r.mu.Unlock()
		want := []string{
			"session.a: You've hit your limit · resets 3:00am; and 2 more with the same credential",
			"session.d: You've hit your limit · resets 3:00am",
			"session.a: You've hit your limit · resets 8:00am; and 2 more with the same credential",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if n := len(r.events("b", history.StatusChanged)); n == 0 {
			t.Error("the history of b does not have its limit")
		}
	})
}

// TestCommandsSeeTheLimit checks that commands say the same of a session that a limit holds as the hub
// does, which page and API show.
func TestCommandsSeeTheLimit(t *testing.T) {
	in(t, func(r *room) {
		end := time.Now().Add(3 * time.Hour)
		r.rt.Script(place("a"), sessiontest.Step{Screen: "❯ "}, sessiontest.Step{After: time.Minute, Screen: resetsAt(end)})
		r.rt.Script(place("b"), sessiontest.Step{Screen: "❯ "})
		mine := subscribed("/home/ada/.claude")
		r.apply(r.spec("a", mine), r.spec("b", mine))
		h, _ := r.hub()
		time.Sleep(5 * time.Minute)
		r.rt.Kill(place("b"))
		time.Sleep(10 * time.Minute)
		commands := fleet.New(fleet.Config{
			Engine: r.open("ada"), Activity: activity.New(r.dir, r.dir, agent.For), DataDir: r.dir, Log: slog.New(slog.DiscardHandler),
			Supervisor: func() (state.Holder, bool) { return state.Holder{}, true },
		})
		seen, err := commands.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		k, _ := h.Snapshot().Of("session.b")
		hub, command := status.Of(k), status.Of(seen.Of("session.b"))
		if hub.Budget == nil || hub.Detail == "" || !strings.Contains(hub.Detail, "limit") {
			t.Fatalf("the hub: %+v", hub)
		}
		if command.Detail != hub.Detail || !cmp.Equal(command.Budget, hub.Budget) {
			t.Errorf("commands say %q, %+v, the hub %q, %+v", command.Detail, command.Budget, hub.Detail, hub.Budget)
		}
	})
}
