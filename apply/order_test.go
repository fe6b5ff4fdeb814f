package apply_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

func TestDependenciesComeFirstThenPriority(t *testing.T) {
	r := newFixture(t)
	r.applier.Parallelism = 1
	urgent := r.spec("urgent")
	urgent.Priority = 5
	r.must(r.create(r.spec("api", "db"), r.spec("db", "disk"), r.spec("disk"), r.spec("b"), r.spec("a"), urgent))
	want := []string{"create urgent", "create a", "create b", "create disk", "create db", "create api"}
	if diff := cmp.Diff(want, r.calls(sessiontest.OpCreate)); diff != "" {
		t.Error(diff)
	}
}

func TestEndsComeInReverseOrder(t *testing.T) {
	r := newFixture(t)
	r.must(r.create(r.spec("api", "db"), r.spec("db", "disk"), r.spec("disk")))
	r.must(r.removal("api", "db", "disk"))
	if diff := cmp.Diff([]string{"remove api", "remove db", "remove disk"}, r.calls(sessiontest.OpRemove)); diff != "" {
		t.Error(diff)
	}
	if got := r.rt.Places(); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// TestDependentWaitsUntilReady: depends_on means ready, not started.
func TestDependentWaitsUntilReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		db := r.spec("db")
		db.Agent.Ready = "listening"
		r.rt.Script(r.place("db"), sessiontest.Step{Screen: "booting"}, sessiontest.Step{After: 20 * time.Second, Screen: "listening"})
		began := time.Now()
		r.must(r.create(r.spec("api", "db"), db))
		st, _ := r.rt.State(r.place("api"))
		if after := st.Live.Started.Sub(began); after < 20*time.Second || after > 21*time.Second {
			t.Errorf("api was started after %s", after)
		}
		r.event(history.Ready, "db")
	})
}

func TestDependencyThatDoesNotBecomeReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		db := r.spec("db")
		db.Agent.Ready = "listening"
		r.rt.Script(r.place("db"), sessiontest.Step{Screen: "trust this folder?"})
		tally, err := r.run(r.create(r.spec("api", "db"), db))
		if tally.Failed != 1 || tally.Skipped != 1 || err == nil || !strings.Contains(err.Error(), "trust this folder?") {
			t.Errorf("%+v: %v", tally, err)
		}
		if got := r.event(history.ApplyErrored, "db").Excerpt; got != "trust this folder?" {
			t.Errorf("excerpt %q", got)
		}
		if !strings.Contains(r.record("db").LastError, "not ready after 30s") {
			t.Errorf("last error %q", r.record("db").LastError)
		}
	})
}

func TestFailureIsReportedAtOnceAndDependentsAreSkippedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		r.rt.Faults.Slow(sessiontest.OpCreate, time.Minute)
		r.git.fails["agents/db"] = errors.New("no space left")
		tally, err := r.run(r.create(r.spec("front", "api"), r.spec("api", "db"), r.spec("db"), r.spec("other")))
		if tally.Done != 1 || tally.Failed != 1 || tally.Skipped != 2 {
			t.Errorf("tally %+v", tally)
		}
		if err == nil || strings.Count(err.Error(), "no space left") != 1 {
			t.Errorf("error: %v", err)
		}
		want := []string{"apply_errored db", "apply_skipped api", "apply_skipped front", "apply_complete other"}
		if diff := cmp.Diff(want, r.eventsOf(history.ApplyErrored, history.ApplySkipped, history.ApplyComplete)); diff != "" {
			t.Error(diff)
		}
		for name, detail := range map[string]string{
			"api": "depends on session.db, which failed", "front": "depends on session.api, which was skipped",
		} {
			if got := r.event(history.ApplySkipped, name).Detail; got != detail {
				t.Errorf("%s: %q, want %q", name, got, detail)
			}
		}
		if r.event(history.ApplyErrored, "db").Time.After(r.event(history.ApplyComplete, "other").Time) {
			t.Error("the failure was reported late")
		}
	})
}

func TestHeldForADependencyIsSkippedByName(t *testing.T) {
	r := newFixture(t)
	api := r.spec("api", "db")
	p := plan.Plan{Lineage: lineage, Changes: []plan.Change{
		{Address: api.Address, Action: plan.Hold, Reason: plan.ReasonDependency, Skips: true, Approved: true, Holds: plan.Create, Detail: "depends on session.db, which has an error: branch mismatch", After: &api},
		{Address: "session.queued", Action: plan.Hold, Reason: plan.ReasonQueued, After: &api},
	}}
	if tally := r.must(p); tally.Skipped != 1 || len(tally.Results) != 1 {
		t.Errorf("%+v", tally)
	}
	if got := r.event(history.ApplySkipped, "api").Detail; !strings.Contains(got, "session.db") {
		t.Errorf("detail %q", got)
	}
}

func TestStopOnError(t *testing.T) {
	r := newFixture(t)
	r.applier.StopOnError, r.applier.Parallelism = true, 1
	r.rt.Faults.Fail(sessiontest.OpCreate, 2, errors.New("broken"))
	tally, err := r.run(r.create(r.spec("a"), r.spec("b"), r.spec("c"), r.spec("d")))
	if tally.Done != 1 || tally.Failed != 1 || tally.Skipped != 2 || errors.Is(err, apply.ErrInterrupted) {
		t.Errorf("%+v: %v", tally, err)
	}
}

func TestParallelismIsABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		r.rt.Faults.Slow(sessiontest.OpCreate, 3*time.Second)
		var specs []session.Spec
		for i := range 10 {
			specs = append(specs, r.spec(fmt.Sprintf("s%d", i)))
		}
		began := time.Now()
		r.must(r.create(specs...))
		if got := time.Since(began); got < 9*time.Second || got > 10*time.Second {
			t.Errorf("10 sessions of 3 s each, 4 at once, took %s", got)
		}
	})
}

// TestLightSessionsCountForLess: what only asks tmux is done ten at once for one, sessions in a
// cluster five, and what does more is bounded as ever.
func TestLightSessionsCountForLess(t *testing.T) {
	for name, c := range map[string]struct {
		parallelism int
		change      func(*session.Spec)
		want        time.Duration
	}{
		"light":           {2, func(*session.Spec) {}, 3 * time.Second},
		"one at a time":   {1, func(*session.Spec) {}, 60 * time.Second},
		"set up":          {2, func(s *session.Spec) { s.Workspace.Setup = []string{"true"} }, 30 * time.Second},
		"in a container":  {2, func(s *session.Spec) { s.Runtime.Kind = "scripted" }, 30 * time.Second},
		"in a cluster":    {2, func(s *session.Spec) { s.Runtime.Kind = "kubernetes" }, 6 * time.Second},
		"other workspace": {2, func(s *session.Spec) { s.Workspace.Mode, s.Branch = session.Worktree, "agents/"+s.Address.Block() }, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newFixture(t)
				r.applier.Parallelism = c.parallelism
				r.applier.Runtime = func(s session.RuntimeSpec) (session.Runtime, error) {
					if s.Kind == "kubernetes" {
						return cluster{placing: &placing{Scripted: r.rt}}, nil
					}
					return r.rt, nil
				}
				r.rt.Faults.Slow(sessiontest.OpCreate, 3*time.Second)
				var specs []session.Spec
				for i := range 20 {
					s := r.spec(fmt.Sprintf("s%d", i))
					s.Workspace.Mode, s.Branch, s.Runtime.Kind = session.Plain, "", "tmux"
					c.change(&s)
					specs = append(specs, s)
				}
				began := time.Now()
				r.must(r.create(specs...))
				if got := time.Since(began); got < c.want || got > c.want+time.Second {
					t.Errorf("20 sessions of 3 s each took %s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestProgressIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		r.rt.Faults.Slow(sessiontest.OpCreate, 25*time.Second)
		r.must(r.create(r.spec("a")))
		var at []time.Duration
		for _, e := range r.events {
			if e.Kind == history.ApplyProgress {
				at = append(at, e.Elapsed.D().Round(time.Second))
			}
		}
		if diff := cmp.Diff([]time.Duration{time.Second, 10 * time.Second, 20 * time.Second}, at); diff != "" {
			t.Error(diff)
		}
		if got := r.event(history.ApplyComplete, "a").Elapsed.D().Round(time.Second); got != 25*time.Second {
			t.Errorf("it took %s", got)
		}
	})
}

func TestDrainFinishesWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		r.applier.Parallelism = 2
		r.rt.Faults.Slow(sessiontest.OpCreate, 5*time.Second)
		drain := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(drain) })
		tally, err := r.applier.Run(t.Context(), r.create(r.spec("a"), r.spec("b"), r.spec("c")), drain)
		if tally.Done != 2 || tally.Skipped != 1 || !errors.Is(err, apply.ErrInterrupted) {
			t.Errorf("%+v: %v", tally, err)
		}
		if got := r.event(history.ApplySkipped, "c").Detail; got != "interrupted" {
			t.Errorf("detail %q", got)
		}
		if r.recorded("c") {
			t.Error("what was not begun is on record")
		}
	})
}

func TestCancelStopsNowAndTheStateIsRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		r.applier.Parallelism = 1
		r.rt.Faults.Slow(sessiontest.OpCreate, 5*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(7*time.Second, cancel)
		tally, err := r.applier.Run(ctx, r.create(r.spec("a"), r.spec("b"), r.spec("c")), nil)
		if tally.Done != 1 || tally.Failed != 1 || tally.Skipped != 1 || !errors.Is(err, apply.ErrInterrupted) {
			t.Errorf("%+v: %v", tally, err)
		}
		if rec := r.record("b"); rec.Intent != session.Creating || rec.LastError == "" || !rec.Tree.Created {
			t.Errorf("what was broken off: %+v", rec)
		}
		if rec := r.record("a"); rec.Intent != session.Settled {
			t.Errorf("what was done: %+v", rec)
		}
	})
}

// TestReplacementOfTheSameBranch: what is in the way ends first.
func TestEndsComeFirstWhereTheyAreInTheWay(t *testing.T) {
	r := newFixture(t)
	old := r.spec("old")
	old.Workspace.OnDestroy = session.RemoveClean
	r.must(r.create(old))
	next := r.spec("next")
	next.Branch, next.Priority = old.Branch, 9
	p := r.removal("old")
	p.Changes = append(p.Changes, r.change(plan.Create, &next, "next"))
	r.must(p)
	if r.recorded("old") || r.record("next").Tree.Branch != old.Branch {
		t.Error("the branch did not change hands")
	}
}

func TestDependenciesThatWaitForEachOtherAreSkipped(t *testing.T) {
	r := newFixture(t)
	tally, _ := r.run(r.create(r.spec("a", "b"), r.spec("b", "a"), r.spec("c")))
	if tally.Done != 1 || tally.Skipped != 2 {
		t.Errorf("%+v", tally)
	}
}

func TestPreflightStopsEverything(t *testing.T) {
	r := newFixture(t)
	secret, lost := r.spec("secret"), r.spec("lost")
	secret.Secrets = []string{"KEY", "OTHER"}
	r.secrets["OTHER"] = "x"
	lost.Agent.Command = []string{"no-such-robot"}
	tally, err := r.run(r.create(secret, lost, r.spec("fine")))
	if tally.Failed != 2 || tally.Skipped != 1 || tally.Done != 0 {
		t.Errorf("%+v", tally)
	}
	for _, want := range []string{"secret KEY is not set", `"no-such-robot" is not on its PATH`} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "OTHER") {
		t.Errorf("a secret that is set is named: %v", err)
	}
	if len(r.store.State().Sessions) != 0 || len(r.rt.Calls()) != 0 {
		t.Error("something was touched")
	}
	if _, err := os.Stat(filepath.Join(r.dir, "runs")); !os.IsNotExist(err) {
		t.Error("something was made on disk")
	}
}

// TestMissingSecret: the hub lets the session fail alone, and finds its attempts in its
// history. An apply stops before anything is touched, and tells its caller.
func TestMissingSecret(t *testing.T) {
	for _, alone := range []bool{true, false} {
		r := newFixture(t)
		r.applier.EachAlone = alone
		api, web := r.spec("api"), r.spec("web")
		api.Secrets = []string{"KEY"}
		r.secrets["KEY"] = "x"
		r.must(r.create(api, web))
		delete(r.secrets, "KEY")
		rec := r.record("api")
		before, err := history.Read(r.applier.Folder(rec), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		p := r.one(plan.Restart, api)
		p.Changes = append(p.Changes, r.change(plan.Restart, &web, "web"))
		tally, err := r.run(p)
		want := apply.Tally{Failed: 1, Skipped: 1}
		if alone {
			want = apply.Tally{Failed: 1, Done: 1}
		}
		if err == nil || tally.Failed != want.Failed || tally.Done != want.Done || tally.Skipped != want.Skipped {
			t.Errorf("alone %v: %v, %+v", alone, err, tally)
		}
		after, err := history.Read(r.applier.Folder(rec), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if added := after[len(before):]; len(added) > 0 != alone || alone && added[0].Kind != history.ApplyErrored {
			t.Errorf("alone %v: added to the history: %+v", alone, added)
		}
	}
}

func TestSecretsReachTheAgentOnlyAsSecrets(t *testing.T) {
	r := newFixture(t)
	s, other := r.spec("a"), r.spec("b")
	s.Secrets = []string{"KEY"}
	r.secrets["KEY"] = "hunter2"
	r.applier.BaseEnv = append(r.applier.BaseEnv, "KEY=hunter2", "LC_ALL=C", "MINE_TOKEN=t0ken", "GIT_DIR=/elsewhere")
	s.InheritEnv, other.InheritEnv = []string{"*"}, []string{"MINE_*"}
	r.must(r.create(s, other))
	for name, secrets := range map[string]int{"a": 2, "b": 1} {
		st, _ := r.rt.State(r.place(name))
		if len(st.Launch.Secrets) != secrets || !slices.Contains(st.Launch.Env, "LC_ALL=C") || st.Launch.Secrets["MINE_TOKEN"] != "t0ken" ||
			strings.Contains(strings.Join(st.Launch.Env, "\n"), "hunter2") || strings.Contains(strings.Join(st.Launch.Env, "\n"), "GIT_DIR") {
			t.Errorf("%s: secrets %v, environment %v", name, st.Launch.Secrets, st.Launch.Env)
		}
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "state.json"))
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "t0ken") {
		t.Errorf("the secret is in the state (%v)", err)
	}
}
