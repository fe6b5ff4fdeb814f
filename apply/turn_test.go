package apply_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// busy is a robot that works while its screen says so.
type busy struct{ robot }

func (busy) Detect(e session.Evidence) session.Detection {
	if e.Screen == "working" {
		return session.Detection{Activity: session.Working}
	}
	return session.Detection{Activity: session.Idle}
}

// TestTurnEndsBeforeTheAgentIsEnded: however an agent is ended, its running turn
// is let end, as long as after_turn says and no longer.
func TestTurnEndsBeforeTheAgentIsEnded(t *testing.T) {
	for _, c := range []struct {
		name   string
		action plan.Action
		after  time.Duration // after_turn
		asked  time.Duration // by hand; 0: not
		turn   time.Duration
		least  time.Duration
		most   time.Duration
	}{
		{"stop", plan.Stop, time.Minute, 0, 10 * time.Second, 10 * time.Second, 11 * time.Second},
		{"restart", plan.Restart, time.Minute, 0, 10 * time.Second, 10 * time.Second, 11 * time.Second},
		{"replace", plan.Replace, time.Minute, 0, 10 * time.Second, 10 * time.Second, 11 * time.Second},
		{"delete", plan.Delete, time.Minute, 0, 10 * time.Second, 10 * time.Second, 11 * time.Second},
		{"no longer than it says", plan.Stop, 5 * time.Second, 0, time.Hour, 5 * time.Second, 6 * time.Second},
		{"not unless it says so", plan.Stop, 0, 0, time.Hour, 0, time.Second},
		{"at rest", plan.Stop, time.Hour, 0, 0, 0, time.Second},
		{"by hand", plan.Stop, 0, time.Minute, 10 * time.Second, 10 * time.Second, 11 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newFixture(t)
				r.applier.Agent = func(s session.AgentSpec) session.Agent { return busy{robot{spec: s}} }
				if c.asked > 0 {
					r.applier.AfterTurn = func(session.Spec) time.Duration { return c.asked }
				}
				s := r.spec("api")
				s.Stop.AfterTurn = session.Duration(c.after)
				screen := "working"
				if c.turn == 0 {
					screen = "resting"
				}
				r.rt.Script(r.place("api"), sessiontest.Step{Screen: screen}, sessiontest.Step{After: c.turn, Screen: "all done"})
				r.must(r.create(s))
				p := r.one(c.action, s)
				if c.action == plan.Delete {
					p = r.removal("api")
				}
				began := time.Now()
				r.must(p)
				if took := time.Since(began); took < c.least || took > c.most {
					t.Errorf("it was ended after %s, want %s to %s", took, c.least, c.most)
				}
				r.event(history.RunEnded, "api")
			})
		})
	}
}

func TestTurnIsNotWaitedForOnceTheApplyIsBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		r.applier.Agent = func(s session.AgentSpec) session.Agent { return busy{robot{spec: s}} }
		s := r.spec("api")
		s.Stop.AfterTurn = session.Duration(time.Hour)
		r.rt.Script(r.place("api"), sessiontest.Step{Screen: "working"})
		r.must(r.create(s))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := r.applier.Run(ctx, r.one(plan.Stop, s), nil)
		if took := time.Since(began); err == nil || !errors.Is(err, context.DeadlineExceeded) || took > 61*time.Second {
			t.Errorf("%v after %s", err, took)
		}
		if st, ok := r.rt.State(r.place("api")); !ok || st.Live.Liveness != session.Alive {
			t.Error("it was ended all the same")
		}
	})
}
