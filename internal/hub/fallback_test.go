package hub_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// TestFallback checks that an agent at a spent quota is replaced by the one that is
// declared for it, with a prompt, and by no other; that this is no difference from
// the manifest, also after the quota has reset and for another hub; and that apply --replace brings
// back the session's own.
func TestFallback(t *testing.T) {
	in(t, func(r *room) {
		if err := os.WriteFile(filepath.Join(r.dir, "second"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		end := time.Now().Add(3 * time.Hour)
		second := session.AgentSpec{Name: "second", Command: []string{"second"}, PromptVia: "paste", Ready: `^ready> $`}
		falls := func(s *session.Spec) {
			s.Prompt, s.Agent.PromptVia, s.Args = session.PromptOf("Fix the tests."), "argument", []string{"--own"}
			s.Limits = session.Limits{OnQuota: session.QuotaFallsBack, Fallback: []session.AgentSpec{second}}
		}
		limit := resetsAt(end)
		mine := subscribed("/home/ada/.claude")
		var specs []session.Spec
		for name, screen := range map[string]string{"a": limit, "draft": limit + "mine", "waits": limit, "soon": resetsAt(time.Now().Add(5 * time.Minute))} {
			r.rt.Script(place(name), sessiontest.Step{Screen: "❯ "}, sessiontest.Step{After: time.Minute, Screen: screen})
			s := r.spec(name, mine)
			if name != "waits" {
				falls(&s)
			}
			specs = append(specs, s)
		}
		r.rt.Script(place("a"), sessiontest.Step{Screen: "ready> "}) // its next runs
		r.apply(specs...)
		_, stop := r.hub()
		time.Sleep(10 * time.Minute)
		st, _ := r.rt.State(place("a"))
		if st.Launches != 2 || len(st.Sent) != 1 || st.Live.Liveness != session.Alive {
			t.Fatalf("a was started %d times and typed %+v; %q", st.Launches, st.Sent, r.events("a"))
		}
		for _, want := range []string{"You continue the work of another coding agent, robot,", "Fix the tests."} {
			if !strings.Contains(st.Sent[0].Text, want) {
				t.Errorf("it was told %q", st.Sent[0].Text)
			}
		}
		rec := r.record("a")
		if f := rec.Fallback; f == nil || f.Agent != "second" || f.Instead.Agent.Name != "robot" || !f.Until.Equal(end) || f.Credential.Name != "claude, /home/ada/.claude" || rec.Spec.Agent.Name != "second" || len(rec.Spec.Args) > 0 {
			t.Errorf("on record: %+v, %+v", f, rec.Spec)
		}
		for _, name := range []string{"draft", "waits", "soon"} {
			if st, _ := r.rt.State(place(name)); st.Launches != 1 || r.record(name).Fallback != nil {
				t.Errorf("%s was started %d times: %+v", name, st.Launches, r.record(name).Fallback)
			}
		}
		if got := r.events("a", history.ApplyStart); !slices.Equal(got, []string{"apply_start not_recorded", "apply_start fallback"}) {
			t.Errorf("events of a: %q", got)
		}
		stop() // another hub sees the same
		h, stop := r.hub()
		defer stop()
		time.Sleep(4 * time.Hour)
		if st, _ := r.rt.State(place("a")); st.Launches != 2 || len(st.Sent) != 1 {
			t.Errorf("later a was started %d times and typed %+v", st.Launches, st.Sent)
		}
		k, _ := h.Snapshot().Of("session.a")
		if x := status.Of(k); x.Agent != "second" || x.Fallback == nil || x.Fallback.Instead != "robot" || !x.Fallback.Until.Equal(end) || !strings.Contains(x.Why, "second instead of robot") {
			t.Errorf("its status: %q %+v %q", x.Agent, x.Fallback, x.Why)
		}
		e := r.open("ada")
		defer e.Close()
		q := engine.Request{Wanted: specs}
		p, err := e.Plan(r.t.Context(), q)
		if err != nil || p.Acts() || len(p.Drift) > 0 || p.Changes[0].Reason != plan.ReasonFallback {
			t.Errorf("the plan: %+v, %+v, %v", p.Changes[0], p.Drift, err)
		}
		r.rt.Kill(place("a"))
		time.Sleep(time.Minute)
		if st, _ := r.rt.State(place("a")); st.Live.Liveness != session.Alive || r.record("a").Spec.Agent.Name != "second" {
			t.Errorf("after a crash: %s, %s", st.Live.Liveness, r.record("a").Spec.Agent.Name)
		}
		r.applyWith(plan.Options{Replace: []session.Address{"session.a"}}, specs...)
		if rec = r.record("a"); rec.Fallback != nil || rec.Spec.Agent.Name != "robot" || len(rec.Spec.Args) != 1 {
			t.Errorf("after it was replaced: %+v, %+v", rec.Fallback, rec.Spec)
		}
		if spent := hub.Quotas(r.dir, time.Now()); len(spent) != 0 {
			t.Errorf("quotas: %+v", spent)
		}
	})
}

// TestFallbackOfAnotherCredential checks that an agent is no fallback whose own credential is at a
// limit, as another session has met it, and that the session waits as without one.
func TestFallbackOfAnotherCredential(t *testing.T) {
	in(t, func(r *room) {
		end := time.Now().Add(3 * time.Hour)
		mine, other := subscribed("/home/ada/.claude"), subscribed("/srv/claude")
		var theirs session.Spec
		other(&theirs)
		theirs.Agent.Name, theirs.Agent.Command, theirs.Agent.PromptVia = "theirs", []string{"robot"}, "argument"
		falls := func(s *session.Spec) {
			s.Limits = session.Limits{OnQuota: session.QuotaFallsBack, Fallback: []session.AgentSpec{theirs.Agent}}
		}
		for name, after := range map[string]time.Duration{"a": 2 * time.Minute, "b": time.Minute} {
			r.rt.Script(place(name), sessiontest.Step{Screen: "❯ "}, sessiontest.Step{After: after, Screen: resetsAt(end)})
		}
		r.apply(r.spec("a", mine, falls), r.spec("b", other))
		_, stop := r.hub()
		defer stop()
		time.Sleep(time.Hour)
		if st, _ := r.rt.State(place("a")); st.Launches != 1 || r.record("a").Fallback != nil {
			t.Errorf("a was started %d times: %q", st.Launches, r.events("a"))
		}
	})
}
