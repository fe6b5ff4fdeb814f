package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

// TestKilledDuringAFallback kills a hub at each of its acts while another agent
// is started, in place of one that rests at its limit and from one that has exited at it. The next hub must come to one
// live agent, the fallback, which is given its prompt as often as the hub was killed at most.
func TestKilledDuringAFallback(t *testing.T) {
	for _, c := range []struct {
		exited bool
		prompt string
	}{{false, "Fix the tests."}, {true, "Fix the tests."}, {true, ""}} {
		whole := &life{}
		fallsBack(t, whole, c.exited, c.prompt)
		if whole.acts < 5 {
			t.Fatalf("it has %d acts only", whole.acts)
		}
		for n := 1; n <= whole.acts; n++ {
			t.Run(fmt.Sprintf("exited %t, %q, before act %d", c.exited, c.prompt, n), func(t *testing.T) {
				t.Parallel()
				fallsBack(t, &life{last: n}, c.exited, c.prompt)
			})
		}
	}
}

func fallsBack(t *testing.T, l *life, exited bool, prompt string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, s := limitedRoom(t)
		s.Prompt = session.PromptOf(prompt)
		r.must(s)
		r.rt.Edit(place("a"), func(st *sessiontest.State) { st.Live.Screen = "LIMIT" })
		if exited {
			r.rt.Kill(place("a"))
		}
		time.Sleep(time.Minute)
		at := session.Single("a")
		end := time.Now().Add(time.Hour)
		in := func() engine.HubInput {
			h := engine.HubInput{}
			if r.record("a").Spec.Agent.Name == "first" { // as its screen and file show
				h.Limits = map[session.Address]plan.Limit{at: {Since: time.Now().Add(-time.Hour), Until: end, Said: true}}
				h.Resting = map[session.Address]bool{at: true}
			}
			return h
		}
		r.repairUntil(l, in())
		for range 10 {
			if _, _, err := r.Repair(t.Context(), in(), nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		rec := r.record("a")
		st, there := r.rt.State(place("a"))
		if !there || len(r.rt.Places()) != 1 || st.Live.Liveness != session.Alive || st.Live.Mark.Run != rec.Run.ID || rec.Intent != session.Settled || rec.LastError != "" {
			t.Fatalf("places %q, live %+v, on record %+v", r.rt.Places(), st.Live, rec)
		}
		f := rec.Fallback
		if rec.Spec.Agent.Name != "second" || f == nil || f.Agent != "second" || f.Instead.Agent.Name != "first" || !f.Until.Equal(end) {
			t.Errorf("on record: %s, %+v", rec.Spec.Agent.Name, f)
		}
		if n := len(st.Sent); n == 0 || l.last == 0 && n != 1 || n > 2 {
			t.Errorf("it was told %d times: %+v", n, st.Sent)
		}
		for _, in := range st.Sent {
			if !strings.Contains(in.Text, "You continue the work of another coding agent, first,") || !strings.Contains(in.Text, prompt) || strings.Contains(in.Text, "Its task") != (prompt != "") {
				t.Errorf("it was told %q", in.Text)
			}
		}
		if acts := r.planned(s); len(acts) != 0 {
			t.Errorf("the plan of the manifest: %q", acts)
		}
	})
}

// limitedRoom is a room with the programs of two agents, and a session of the first that may be at its
// limit.
func limitedRoom(t *testing.T) (*room, session.Spec) {
	t.Helper()
	r := newRoom(t)
	r.Applier.Agent = agent.For
	for _, name := range []string{"first", "second"} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	own := session.AgentSpec{Name: "first", Command: []string{"first"}, PromptVia: "argument", Patterns: session.Patterns{BlockedAPI: []string{"LIMIT"}}}
	s := r.spec("a")
	s.Agent, s.Prompt, s.Restart = own, session.PromptOf("Fix the tests."), session.Restart{Policy: "on-failure", Attempts: 100, Window: session.Duration(time.Hour)}
	s.Limits = session.Limits{OnQuota: session.QuotaFallsBack, Fallback: []session.AgentSpec{{Name: "second", Command: []string{"second"}, PromptVia: "paste"}}}
	return r, s
}

// TestFallbackOfAnAgentThatWorksAgain checks that an agent is not ended that has left its limit since
// the hub has seen it there.
func TestFallbackOfAnAgentThatWorksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := limitedRoom(t)
		r.must(s)
		r.rt.Edit(place("a"), func(st *sessiontest.State) { st.Live.Screen = "it works" })
		at := session.Single("a")
		in := engine.HubInput{Hub: plan.Hub{Resting: map[session.Address]bool{at: true},
			Limits: map[session.Address]plan.Limit{at: {Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour), Said: true}}}}
		_, tally, err := r.Repair(t.Context(), in, nil)
		if err != nil || tally.Held != 1 {
			t.Errorf("%+v, %v", tally, err)
		}
		if st, _ := r.rt.State(place("a")); st.Launches != 1 || st.Live.Liveness != session.Alive || r.record("a").Fallback != nil || r.record("a").Intent != session.Settled {
			t.Errorf("it was started %d times: %+v", st.Launches, r.record("a"))
		}
	})
}

// repairUntil repairs as a hub that lives so long.
func (r *room) repairUntil(l *life, in engine.HubInput) {
	r.t.Helper()
	store, err := state.Open(r.t.Context(), r.StatePath, "shop", "", state.Holder{}, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer store.Close()
	st := store.State()
	eyes := r.Observer
	eyes.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return r.rt, nil }
	var wanted []session.Spec
	for _, rec := range st.Sessions {
		wanted = append(wanted, rec.Spec)
	}
	w := eyes.World(r.t.Context(), wanted, st.Sessions, false)
	p := plan.Compute(plan.Input{Now: w.At, Project: "shop", Lineage: st.Lineage, Wanted: wanted, Records: st.Sessions, World: w, ByHand: true, Hub: &in.Hub})
	a := r.Applier
	a.Store, a.EachAlone = mortalStore{store, l}, true
	a.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return mortalRuntime{r.rt, l}, nil }
	if _, err = a.Run(r.t.Context(), p, nil); err != nil && !errors.Is(err, errKilled) {
		r.t.Fatal(err)
	}
}
