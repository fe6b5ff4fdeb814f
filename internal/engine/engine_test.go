package engine_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

func TestApplyThenPlanIsEmpty(t *testing.T) {
	r := newRoom(t)
	specs := []session.Spec{r.spec("api", "db"), r.spec("db"), r.spec("docs")}
	if diff := cmp.Diff([]string{"create api", "create db", "create docs"}, r.planned(specs...)); diff != "" {
		t.Fatal(diff)
	}
	if _, err := os.Stat(r.StatePath); !os.IsNotExist(err) {
		t.Fatal("a plan wrote a state")
	}
	r.must(specs...)
	if got := r.planned(specs...); len(got) != 0 {
		t.Errorf("planned again: %v", got)
	}
	r.rt.Kill(place("api"))
	r.rt.Vanish(place("db"))
	specs[2].Priority = 3
	if diff := cmp.Diff([]string{"restart api", "restart db", "update docs"}, r.planned(specs...)); diff != "" {
		t.Fatal(diff)
	}
	r.must(specs...)
	if got := r.planned(specs...); len(got) != 0 {
		t.Errorf("planned again: %v", got)
	}
	if _, _, err := r.converge(engine.Request{Options: plan.Options{Destroy: true}}); err != nil {
		t.Fatal(err)
	}
	if got := r.records(); len(got) != 0 || len(r.rt.Places()) != 0 {
		t.Errorf("after destroy: %v, %v", got, r.rt.Places())
	}
}

func TestPlanIsMadeAgainWhenTheStateMoves(t *testing.T) {
	for _, c := range []struct {
		name     string
		moves    int
		complete bool
	}{{"once", 1, true}, {"always", 99, false}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoom(t)
			r.must(r.spec("api"))
			looks := 0
			r.Observer.BootID = func() string {
				if looks++; looks <= c.moves {
					store, err := state.Open(t.Context(), r.StatePath, "shop", "", state.Holder{}, 0)
					if err != nil {
						t.Error(err)
						return ""
					}
					defer store.Close()
					rec := store.State().Sessions[0]
					rec.UpdatedAt = rec.UpdatedAt.Add(time.Second)
					if err := store.Put(rec); err != nil {
						t.Error(err)
					}
				}
				return r.rt.BootID()
			}
			p, err := r.Plan(t.Context(), engine.Request{Wanted: []session.Spec{r.spec("api")}})
			if err != nil || p.Complete != c.complete {
				t.Errorf("complete %v, %v", p.Complete, err)
			}
			if !c.complete && (looks != 3 || len(p.Problems) != 1 || p.Problems[0].Summary != "state_moved" || p.Problems[0].Severity != session.Warning) {
				t.Errorf("%d looks, %+v", looks, p.Problems)
			}
		})
	}
}

func TestApplyRefusesWhatHasChanged(t *testing.T) {
	r := newRoom(t)
	api, db := r.spec("api"), r.spec("db")
	r.must(api, db)
	api.Priority, db.Priority = 3, 3
	q := engine.Request{Wanted: []session.Spec{api, db}}
	p, err := r.Plan(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	r.rt.Kill(place("api"))
	tally, err := r.Apply(t.Context(), q, p, nil)
	var changed *engine.ChangedError
	if !errors.As(err, &changed) || len(changed.Changes) != 1 {
		t.Fatalf("error: %v", err)
	}
	if want := "session.api has changed since the plan was made: it was ~ update, and is now ↻ restart"; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v\nwant %s…", err, want)
	}
	if len(tally.Results) != 0 || r.record("db").Spec.Priority != 0 {
		t.Error("something was done")
	}
}

func TestApplyLeavesWhatWasNotApproved(t *testing.T) {
	r := newRoom(t)
	api, db := r.spec("api"), r.spec("db")
	r.must(api, db)
	db.Priority = 3
	q := engine.Request{Wanted: []session.Spec{api, db}}
	p, err := r.Plan(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	r.rt.Kill(place("api"))
	tally, err := r.Apply(t.Context(), q, p, nil)
	if err != nil || tally.Done != 1 || len(tally.Warnings) != 1 || tally.Warnings[0].Address != api.Address ||
		!strings.Contains(tally.Warnings[0].Detail, "↻ restart") {
		t.Errorf("%+v: %v", tally, err)
	}
	if diff := cmp.Diff([]string{"restart api"}, r.planned(api, db)); diff != "" {
		t.Error(diff)
	}
}

func TestApplyIsLockedOutByAnother(t *testing.T) {
	r := newRoom(t)
	store, err := state.Open(t.Context(), r.StatePath, "shop", "", state.Holder{PID: 42, User: "bob"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var locked *state.LockedError
	if _, _, err := r.converge(engine.Request{Wanted: []session.Spec{r.spec("api")}}); !errors.As(err, &locked) || locked.Holder.User != "bob" {
		t.Errorf("error: %v", err)
	}
}

func TestWaitHoldsNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		s := r.spec("api")
		s.Prompt, s.Agent.Ready = session.Prompt{}, ">"
		r.Applier.Agent = func(session.AgentSpec) session.Agent { return shy{} }
		r.rt.Script(place("api"), sessiontest.Step{After: 9 * time.Second, Screen: ">"})
		time.AfterFunc(5*time.Second, func() {
			store, err := state.Open(t.Context(), r.StatePath, "shop", "", state.Holder{}, 0)
			if err != nil {
				t.Error(err)
				return
			}
			store.Close()
		})
		began := time.Now()
		if _, _, err := r.converge(engine.Request{Wanted: []session.Spec{s}, Wait: true}); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d < 9*time.Second || d > 10*time.Second {
			t.Errorf("it took %s", d)
		}
	})
}

type shy struct{ robot }

func (shy) Ready(screen string) bool { return screen == ">" }

func TestHands(t *testing.T) {
	r := newRoom(t)
	api, db := r.spec("api"), r.spec("db")
	r.must(api, db)
	hand := func(h engine.Override) {
		t.Helper()
		h.Addresses = []session.Address{"session.api"}
		if _, tally, err := r.Override(t.Context(), h, nil); err != nil {
			t.Fatalf("%+v: %+v: %v", h, tally, err)
		}
	}
	live := func() session.Live { st, _ := r.rt.State(place("api")); return st.Live }

	hand(engine.Override{Desired: session.Paused})
	if o := r.record("api").Override; !live().InputOff || o == nil || o.Desired != session.Paused || o.By != "ada" {
		t.Errorf("paused: %+v, override %+v", live(), o)
	}
	hand(engine.Override{Desired: session.Running})
	if o := r.record("api").Override; live().InputOff || o != nil {
		t.Errorf("resumed: %+v, override %+v", live(), o)
	}
	hand(engine.Override{Desired: session.Stopped})
	if live().PlaceUp || r.record("api").Spec.Desired != session.Running {
		t.Errorf("stopped: %+v", r.record("api"))
	}
	p, err := r.Plan(t.Context(), engine.Request{Wanted: []session.Spec{api, db}})
	if err != nil || p.Changes[0].Lifts == nil || p.Changes[0].Lifts.By != "ada" || p.Changes[0].Action != plan.Restart {
		t.Errorf("the manifest does not lift it: %+v", p.Changes[0])
	}
	hand(engine.Override{Desired: session.Stopped}) // again: nothing to do
	hand(engine.Override{Desired: session.Running})
	if rec := r.record("api"); live().Liveness != session.Alive || rec.Run.Number != 2 || rec.Override != nil {
		t.Errorf("started: %+v", rec)
	}
	hand(engine.Override{Desired: session.Running, Restart: true})
	if rec := r.record("api"); rec.Run.Number != 3 || live().Mark.Run != rec.Run.ID {
		t.Errorf("restarted: %+v", rec)
	}
	var kinds []history.Kind
	for _, e := range r.events {
		if e.Kind == history.OverrideSet || e.Kind == history.OverrideLifted {
			kinds = append(kinds, e.Kind)
		}
	}
	want := []history.Kind{history.OverrideSet, history.OverrideLifted, history.OverrideSet, history.OverrideLifted}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	if rec := r.record("db"); rec.Run.Number != 1 || rec.Override != nil {
		t.Errorf("the other was touched: %+v", rec)
	}
}

// TestPauseFails shows that a pause that failed leaves no override: the agent works on.
func TestPauseFails(t *testing.T) {
	r := newRoom(t)
	api, db := r.spec("api"), r.spec("db")
	r.must(api, db)
	both := []session.Address{"session.api", "session.db"}
	r.rt.Faults.Fail(sessiontest.OpPause, 1, errors.New("no shim answers"))
	if _, tally, err := r.Override(t.Context(), engine.Override{Addresses: both, Desired: session.Paused}, nil); err == nil || tally.Failed != 1 || tally.Done != 1 {
		t.Fatalf("%+v: %v", tally, err)
	}
	for _, name := range []string{"api", "db"} {
		st, _ := r.rt.State(place(name))
		if o := r.record(name).Override; st.Live.InputOff != (o != nil) {
			t.Errorf("%s is paused: %t, and its override is %+v", name, st.Live.InputOff, o)
		}
	}
	p, err := r.Plan(t.Context(), engine.Request{Wanted: []session.Spec{api, db}})
	if err != nil || p.Summary().Resume != 1 {
		t.Errorf("plan: %+v, %v", p.Summary(), err)
	}
}

func TestHandOnWhatIsNotThere(t *testing.T) {
	r := newRoom(t)
	r.must(r.spec("api"))
	var unknown *engine.UnknownError
	_, _, err := r.Override(t.Context(), engine.Override{Addresses: []session.Address{"session.other"}, Desired: session.Stopped}, nil)
	if !errors.As(err, &unknown) || unknown.Address != "session.other" {
		t.Errorf("error: %v", err)
	}
	r.rt.Faults.Unreachable(errors.New("no server"))
	_, _, err = r.Override(t.Context(), engine.Override{Addresses: []session.Address{"session.api"}, Desired: session.Stopped}, nil)
	if err == nil || !strings.Contains(err.Error(), "no server") || r.record("api").Override != nil {
		t.Errorf("override %+v, error: %v", r.record("api").Override, err)
	}
}

func TestStatus(t *testing.T) {
	r := newRoom(t)
	if s, err := r.Inspect(t.Context(), false); err != nil || len(s.Sessions) != 0 {
		t.Errorf("without a state: %+v, %v", s, err)
	}
	r.must(r.spec("api"), r.spec("db"))
	r.rt.Edit(place("api"), func(s *sessiontest.State) { s.Live.Screen = "hello" })
	r.rt.Kill(place("db"))
	s, err := r.Inspect(t.Context(), true)
	if err != nil || len(s.Sessions) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	api, db := s.Sessions[0], s.Sessions[1]
	if api.Live == nil || api.Live.Screen != "hello" || api.Diagnosis.State != session.StateRunning || !api.Checkout.Exists {
		t.Errorf("%+v", api)
	}
	if db.Diagnosis.State != session.StateStale || len(s.Plan.Drift) != 1 {
		t.Errorf("%+v, drift %+v", db.Diagnosis, s.Plan.Drift)
	}
}

// TestLostState: what lives carries its identity, so that it is adopted and not
// made a second time.
func TestLostState(t *testing.T) {
	r := newRoom(t)
	api, db := r.spec("api"), r.spec("db")
	r.must(api, db)
	before := r.record("api")
	if err := os.Remove(r.StatePath); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"adopt api", "adopt db"}, r.planned(api, db)); diff != "" {
		t.Fatal(diff)
	}
	r.must(api, db)
	if got := r.record("api"); got.ID != before.ID || got.Run.ID != before.Run.ID || got.Run.Agent != before.Run.Agent {
		t.Errorf("record %+v, was %+v", got, before)
	}
	if got := r.planned(api, db); len(got) != 0 || len(r.rt.Calls(sessiontest.OpCreate)) != 2 {
		t.Errorf("planned again: %v", got)
	}
}

func TestCorruptStateIsRefusedAndKept(t *testing.T) {
	r := newRoom(t)
	if err := os.WriteFile(r.StatePath, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var corrupt *state.CorruptError
	if _, err := r.Plan(t.Context(), engine.Request{}); !errors.As(err, &corrupt) {
		t.Errorf("plan: %v", err)
	}
	if _, err := r.Apply(t.Context(), engine.Request{}, plan.Plan{}, nil); !errors.As(err, &corrupt) {
		t.Errorf("apply: %v", err)
	}
}

func TestApplyRefusesAPlanOfAnotherState(t *testing.T) {
	r := newRoom(t)
	r.must(r.spec("api"))
	q := engine.Request{Wanted: []session.Spec{r.spec("api"), r.spec("web")}}
	p, err := r.Plan(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	p.Lineage = "5f0c1b7e-0000-4000-8000-000000000000"
	if _, err := r.Apply(t.Context(), q, p, nil); err == nil || !strings.Contains(err.Error(), "for another state") {
		t.Errorf("error: %v", err)
	}
	if len(r.records()) != 1 {
		t.Error("something was done")
	}
}

// TestUnderWayIsNotInterrupted: while whoever holds the lock creates a session, looks
// and plans say so; once nobody does, it was interrupted.
func TestUnderWayIsNotInterrupted(t *testing.T) {
	r := newRoom(t)
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	store, err := state.Open(t.Context(), r.StatePath, "shop", "test", state.Holder{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(session.Record{ID: "api-00000001", Address: session.Single("api"), Spec: r.spec("api"), Intent: session.Creating,
		Run: session.Run{ID: "0123456789abcdef"}, CreatedAt: since, UpdatedAt: since}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	details := func() (got []string) {
		t.Helper()
		s, err := r.Inspect(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		care := engine.HubInput{}
		p, err := r.Plan(t.Context(), engine.Request{Wanted: []session.Spec{r.spec("api")}})
		if err != nil {
			t.Fatal(err)
		}
		return []string{s.Sessions[0].Diagnosis.Detail, r.Observe(t.Context(), s.State, care).Sessions[0].Diagnosis.Detail, p.Changes[0].Detail}
	}
	interrupted := "its creation was interrupted"
	if diff := cmp.Diff([]string{interrupted, interrupted, interrupted}, details()); diff != "" {
		t.Error(diff)
	}
	for _, x := range []struct {
		since time.Time
		want  string
	}{
		{since, "being created by agentform apply (pid 42 on box)"},
		{since.Add(time.Hour), interrupted}, // it is at work on another session
	} {
		store, err := state.Open(t.Context(), r.StatePath, "shop", "", state.Holder{PID: 42, Host: "box", Command: "agentform apply", Since: x.since}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{x.want, x.want, x.want}, details()); diff != "" {
			t.Error(diff)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{interrupted, interrupted, interrupted}, details()); diff != "" {
		t.Error(diff)
	}
}
