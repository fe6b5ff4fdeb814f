package apply_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// finish is a plan that ends a session that is done.
func (r *fixture) finish(name string) plan.Plan {
	s := r.record(name).Spec
	c := r.change(plan.Stop, &s, name)
	c.Finishes = &session.Finished{By: session.FinishTurn, At: time.Now().UTC()}
	return plan.Plan{Lineage: lineage, Changes: []plan.Change{c}}
}

// TestFinishedSession checks that a session that is done is recorded as such, with the commit of
// its branch, before another starts in its place, and not once it is started again.
func TestFinishedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		r.applier.Parallelism = 10
		r.applier.Git.Tip = func(path, branch string, clone bool) (string, error) { return "f1ff7ee " + branch, nil }
		done := r.spec("done")
		r.must(r.create(done))
		time.Sleep(time.Minute)
		p := r.finish("done")
		next := r.spec("next")
		p.Changes = append(p.Changes, r.change(plan.Create, &next, "next"))
		r.rt.Forget()
		r.must(p)
		if diff := cmp.Diff([]string{"stop done", "remove done", "create next"}, r.calls(sessiontest.OpStop, sessiontest.OpRemove, sessiontest.OpCreate)); diff != "" {
			t.Error(diff)
		}
		rec := r.record("done")
		if f := rec.Finished; f == nil || f.By != session.FinishTurn || f.Commit != "f1ff7ee "+done.Branch {
			t.Errorf("it is recorded as finished by %+v", f)
		}
		if e := r.event(history.Finished, "done"); e.Reason != "turn" || e.New != "f1ff7ee "+done.Branch {
			t.Errorf("the history has %+v", e)
		}
		r.must(plan.Plan{Lineage: lineage, At: time.Now(), Changes: []plan.Change{r.change(plan.Restart, &done, "done")}})
		if rec := r.record("done"); rec.Finished != nil || rec.FinishFrom.IsZero() {
			t.Errorf("it was started again, and is finished by %+v, from %s", rec.Finished, rec.FinishFrom)
		}
	})
}

// TestAskedForAgain checks that the turns before a start that a person asked for do not finish a
// session, and those before a repair do.
func TestAskedForAgain(t *testing.T) {
	for reason, forgets := range map[plan.Reason]bool{plan.ReasonRequested: true, plan.ReasonResume: true, plan.ReasonOverride: true, plan.ReasonGone: false, plan.ReasonFailed: false} {
		r := newFixture(t)
		s := r.spec("api")
		r.must(r.create(s))
		p := r.one(plan.Restart, s)
		p.At, p.Changes[0].Reason = time.Now(), reason
		r.must(p)
		if got := r.record("api").FinishFrom; got.IsZero() == forgets {
			t.Errorf("%s: what finishes it counts from %s", reason, got)
		}
	}
}

// TestFinishedSessionThatWorksOn checks that an agent that was given something else since the
// plan was made is not ended.
func TestFinishedSessionThatWorksOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		s := r.spec("api")
		r.applier.Agent = func(s session.AgentSpec) session.Agent { return busy{robot{spec: s}} }
		r.rt.Script(r.place("api"), sessiontest.Step{Screen: "all done"}, sessiontest.Step{After: time.Minute, Screen: "working"})
		r.must(r.create(s))
		time.Sleep(2 * time.Minute)
		if got := r.must(r.finish("api")); got.Held != 1 || got.Results[0].Outcome != apply.Held {
			t.Errorf("%+v", got)
		}
		if st, ok := r.rt.State(r.place("api")); !ok || st.Live.Liveness != session.Alive || r.record("api").Finished != nil {
			t.Error("it was ended")
		}
	})
}

// TestLandedSession checks that what is left of a session that is removed when it has landed
// is that, and that it can be created again under its id.
func TestLandedSession(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	r.must(r.create(s))
	rec := r.record("api")
	rec.Landed = &session.Landed{Into: "main", Commit: "9fd6338", From: "f1ff7ee"}
	rec.Override = &session.Override{Desired: session.Stopped, By: "ada"}
	run := filepath.Join(r.applier.DataDir, "runs", rec.Run.ID)
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.applier.Store.Put(rec); err != nil {
		t.Fatal(err)
	}
	p := r.removal("api")
	p.Options.KeepLanded = true
	r.must(p)
	if left := r.record("api"); !left.Spent() || left.ID != rec.ID || left.Intent != session.Settled || left.Override != nil || left.Location != (session.Location{}) || len(r.rt.Places()) > 0 {
		t.Errorf("left is %+v in %v", left, r.rt.Places())
	}
	if _, err := os.Stat(run); err == nil {
		t.Errorf("%s is left", run)
	}
	r.must(r.one(plan.Create, s))
	if again := r.record("api"); again.ID != rec.ID || again.Landed != nil || again.Run.Number != 2 {
		t.Errorf("created again it is %+v", again)
	}
	p = r.removal("api")
	r.must(p)
	if r.recorded("api") {
		t.Error("it is still recorded")
	}
}
