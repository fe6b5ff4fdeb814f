package apply_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

func TestRestartInPlaceKeepsTheScreen(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	s.Prompt = session.PromptOf("first")
	r.must(r.create(s))
	old := r.record("api")
	r.rt.Edit(r.place("api"), func(st *sessiontest.State) {
		st.Live.Screen = "all my work\n\n" + strings.Repeat("  \n", 40) + "Pane is dead"
	})
	s.Args = []string{"--fast"}
	r.must(r.one(plan.Restart, s))
	rec := r.record("api")
	if rec.ID != old.ID || rec.Run.ID == old.Run.ID || rec.Run.Number != 2 || rec.Intent != session.Settled || rec.Run.DeliveredAt.IsZero() {
		t.Errorf("record %+v", rec)
	}
	if diff := cmp.Diff([]string{"create api", "capture api", "stop api", "restart api"}, r.calls()); diff != "" {
		t.Error(diff)
	}
	st, _ := r.rt.State(r.place("api"))
	if diff := cmp.Diff([]string{"robot", "--fast", "first"}, st.Launch.Argv); diff != "" {
		t.Errorf("an agent without a conversation gets its prompt again: %s", diff)
	}
	text, err := os.ReadFile(filepath.Join(state.Folder(r.dir, rec), "transcript.log"))
	if err != nil || !strings.Contains(string(text), "\nall my work\n\nPane is dead\n") || !strings.Contains(string(text), old.Run.ID+": restart: as requested") {
		t.Errorf("transcript %q, %v", text, err)
	}
	if e := r.event(history.RunEnded, "api"); e.Run != old.Run.ID || e.Detail != "killed by SIGTERM" {
		t.Errorf("run ended: %+v", e)
	}
}

func TestRestartThatGoesOnWithAConversation(t *testing.T) {
	for _, c := range []struct {
		name  string
		fresh bool
		never bool // the prompt was never delivered
		want  []string
	}{
		{name: "goes on", want: []string{"robot", "--resume", "c1"}},
		{name: "fresh", fresh: true, want: []string{"robot", "first"}},
		{name: "not delivered", never: true, want: []string{"robot", "--resume", "c1", "first"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newFixture(t)
			s := r.spec("api")
			s.Prompt, s.Restart.Resume = session.PromptOf("first"), true
			r.must(r.create(s))
			rec := r.record("api")
			rec.Run.Conversation = "c1"
			if c.never {
				rec.Run.DeliveredAt = time.Time{}
			}
			if err := r.store.Put(rec); err != nil {
				t.Fatal(err)
			}
			p := r.one(plan.Restart, s)
			p.Changes[0].Fresh = c.fresh
			r.must(p)
			st, _ := r.rt.State(r.place("api"))
			if diff := cmp.Diff(c.want, st.Launch.Argv); diff != "" {
				t.Error(diff)
			}
			if r.record("api").Run.DeliveredAt.IsZero() {
				t.Error("the prompt counts as not delivered")
			}
		})
	}
}

func TestRestartOfAPlaceThatIsGone(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	r.must(r.create(s))
	r.rt.Vanish(r.place("api"))
	r.must(r.one(plan.Restart, s))
	if diff := cmp.Diff([]string{"create api", "stop api", "create api"}, r.calls()); diff != "" {
		t.Errorf("leftovers are ended, then a new place is made: %s", diff)
	}
}

func TestStopKeepsTheRecordAndTheWorkspace(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	r.must(r.create(s))
	s.Desired = session.Stopped
	r.must(r.one(plan.Stop, s))
	rec := r.record("api")
	if rec.Spec.Desired != session.Stopped || rec.Intent != session.Settled || rec.Location != (session.Location{}) || rec.Run.ID == "" {
		t.Errorf("record %+v", rec)
	}
	if _, err := os.Stat(s.Workspace.Path); err != nil || len(r.rt.Places()) != 0 {
		t.Errorf("workspace: %v; places: %v", err, r.rt.Places())
	}
	s.Desired = session.Running
	r.must(r.one(plan.Restart, s))
	if r.record("api").Run.Number != 2 {
		t.Errorf("record %+v", r.record("api"))
	}
}

func TestPauseAndResume(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	r.must(r.create(s))
	rec := r.record("api")
	rec.Override = &session.Override{Desired: session.Stopped, By: "bob", At: time.Unix(9, 0).UTC()}
	if err := r.store.Put(rec); err != nil {
		t.Fatal(err)
	}
	s.Desired = session.Paused
	p := r.one(plan.Pause, s)
	p.Changes[0].Lifts = rec.Override
	r.must(p)
	if got := r.record("api"); got.Override != nil || got.Spec.Desired != session.Paused {
		t.Errorf("record %+v", got)
	}
	if e := r.event(history.OverrideLifted, "api"); e.Old != "stopped" || !strings.Contains(e.Detail, "by bob") {
		t.Errorf("%+v", e)
	}
	s.Desired = session.Running
	r.must(r.one(plan.Resume, s))
	if st, _ := r.rt.State(r.place("api")); st.Live.InputOff {
		t.Error("it is still paused")
	}
}

func TestDeleteKeepsWorkThatWouldBeLost(t *testing.T) {
	r := newFixture(t)
	for _, c := range []struct {
		name, onDestroy string
		risk            git.Risk
		kept            string
	}{
		{"kept", session.Keep, git.Risk{}, "on_destroy = keep"},
		{"dirty", session.RemoveClean, git.Risk{Uncommitted: 2}, "it holds 2 uncommitted changes"},
		{"clean", session.RemoveClean, git.Risk{}, ""},
	} {
		s := r.spec(c.name)
		s.Workspace.OnDestroy = c.onDestroy
		r.git.risks[s.Workspace.Path] = c.risk
		r.must(r.create(s))
		r.must(r.removal(c.name))
		_, err := os.Stat(s.Workspace.Path)
		if (err == nil) != (c.kept != "") {
			t.Errorf("%s: workspace: %v", c.name, err)
		}
		if c.kept != "" {
			if e := r.event(history.WorkKept, c.name); !strings.Contains(e.Detail, c.kept) || !strings.Contains(e.Detail, s.Workspace.Path) {
				t.Errorf("%s: %q", c.name, e.Detail)
			}
		} else if _, err := os.Stat(filepath.Dir(s.Workspace.Path)); !os.IsNotExist(err) {
			t.Errorf("%s: an empty folder is left: %v", c.name, err)
		}
		if r.recorded(c.name) || len(r.rt.Places()) != 0 {
			t.Errorf("%s: still there", c.name)
		}
	}
}

func TestDeleteNeverRemovesWhatItDidNotMake(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	s.Workspace.OnDestroy, s.Workspace.Path = session.RemoveClean, filepath.Join(r.dir, "mine")
	if err := os.MkdirAll(filepath.Join(s.Workspace.Path, "work"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.git.branches[s.Workspace.Path] = s.Branch
	r.must(r.create(s))
	r.must(r.removal("api"))
	if _, err := os.Stat(filepath.Join(s.Workspace.Path, "work")); err != nil {
		t.Error(err)
	}
}

// stubborn says that it removed a place, and did not.
type stubborn struct{ session.Runtime }

func (s stubborn) Remove(ctx ctx, p session.Location) error { return nil }

func TestDeleteLooksBeforeItForgets(t *testing.T) {
	r := newFixture(t)
	r.must(r.create(r.spec("api")))
	r.applier.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return stubborn{r.rt}, nil }
	if _, err := r.run(r.removal("api")); err == nil || !strings.Contains(err.Error(), "still exists") {
		t.Errorf("error: %v", err)
	}
	if rec := r.record("api"); rec.Intent != session.Removing {
		t.Errorf("record %+v", rec)
	}
}

func TestReplaceIsAnotherSession(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	r.must(r.create(s))
	old := r.record("api")
	r.must(r.one(plan.Replace, s))
	rec := r.record("api")
	if rec.ID == old.ID || rec.Run.Number != 1 || !rec.Tree.Created || rec.Tree.Path != old.Tree.Path {
		t.Errorf("record %+v", rec)
	}
	if st, _ := r.rt.State(r.place("api")); st.Live.Mark.ID != rec.ID || st.Launches != 1 {
		t.Errorf("live %+v", st.Live)
	}
}

func TestForget(t *testing.T) {
	r := newFixture(t)
	r.must(r.create(r.spec("api")))
	r.rt.Vanish(r.place("api"))
	p := r.removal("api")
	p.Changes[0].Action = plan.Forget
	r.must(p)
	if r.recorded("api") || len(r.rt.Calls(sessiontest.OpStop, sessiontest.OpRemove)) != 0 {
		t.Error("forgetting is not removing")
	}
}

func TestAdopt(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	s.Prompt = session.PromptOf("go")
	r.must(r.create(s))
	old := r.record("api")
	if err := r.store.Delete(s.Address); err != nil {
		t.Fatal(err)
	}
	r.must(r.one(plan.Adopt, s))
	rec := r.record("api")
	if rec.ID != old.ID || rec.Run.ID != old.Run.ID || rec.Run.Agent != old.Run.Agent || rec.Run.DeliveredAt.IsZero() || rec.Location != old.Location || !rec.Tree.Created {
		t.Errorf("record %+v, was %+v", rec, old)
	}
	if err := r.store.Delete(s.Address); err != nil {
		t.Fatal(err)
	}
	s.Args = []string{"--fast"}
	p := r.one(plan.Adopt, s)
	p.Changes[0].Then = plan.Restart
	r.must(p)
	if rec := r.record("api"); rec.Run.Number != 2 || !slices.Equal(rec.Spec.Args, s.Args) {
		t.Errorf("record %+v", rec)
	}
}

func TestUpdateSettlesARunThatWasStartedUnrecorded(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	r.must(r.create(s))
	live := r.record("api")
	rec := live
	rec.Run, rec.Intent = session.Run{ID: "0000000000000000", Number: 1}, session.Restarting
	if err := r.store.Put(rec); err != nil {
		t.Fatal(err)
	}
	s.Priority = 3
	r.must(r.one(plan.Update, s))
	got := r.record("api")
	if got.Run.ID != live.Run.ID || got.Run.Agent != live.Run.Agent || got.Intent != session.Settled || got.Spec.Priority != 3 {
		t.Errorf("record %+v", got)
	}
	if len(r.rt.Calls()) != 1 {
		t.Errorf("an update touched the session: %v", r.calls())
	}
}

func TestHistoryThatCannotBeWrittenIsAWarning(t *testing.T) {
	r := newFixture(t)
	if err := os.WriteFile(filepath.Join(r.dir, "agents"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if tally := r.must(r.create(r.spec("a"), r.spec("b"))); len(tally.Warnings) != 1 || tally.Warnings[0].Severity != session.Warning {
		t.Errorf("warnings %+v", tally.Warnings)
	}
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		slow, never := r.spec("slow"), r.spec("never")
		slow.Agent.Ready, never.Agent.Ready = ">", ">"
		r.rt.Script(r.place("slow"), sessiontest.Step{After: 9 * time.Second, Screen: ">"})
		tally := r.must(r.create(slow, never, r.spec("plain")))
		began := time.Now()
		err := r.applier.Await(t.Context(), &tally)
		if err == nil || !strings.Contains(err.Error(), "session.never: not ready after 30s") || strings.Contains(err.Error(), "slow") {
			t.Errorf("error: %v", err)
		}
		if d := time.Since(began); d < 30*time.Second || d > 31*time.Second {
			t.Errorf("it took %s", d)
		}
		if diff := cmp.Diff([]string{"ready plain", "ready slow"}, r.eventsOf(history.Ready)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestReadyIsRecordedOnce checks that the history has a run's readiness once, whoever sees it
// first, and since the run began.
func TestReadyIsRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		seen, unseen := r.spec("seen"), r.spec("unseen")
		seen.Agent.Ready, unseen.Agent.Ready = ">", ">"
		for _, name := range []string{"seen", "unseen"} {
			r.rt.Script(r.place(name), sessiontest.Step{After: 9 * time.Second, Screen: ">"})
		}
		tally := r.must(r.create(seen, unseen))
		time.Sleep(5 * time.Second)
		rec := r.record("seen")
		if err := history.Append(r.applier.Folder(rec), history.Event{Kind: history.Ready, Run: rec.Run.ID, Detail: "seen by a look"}); err != nil {
			t.Fatal(err)
		}
		if err := r.applier.Await(t.Context(), &tally); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"seen", "unseen"} {
			past, err := history.Read(r.applier.Folder(r.record(name)), time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			past = slices.DeleteFunc(past, func(e history.Event) bool { return e.Kind != history.Ready })
			if len(past) != 1 {
				t.Errorf("%s: %+v", name, past)
			}
			if after := r.event(history.Ready, name).Elapsed.D().Round(time.Second); after != 9*time.Second {
				t.Errorf("%s: ready after %s", name, after)
			}
		}
	})
}

func TestAwaitTellsWhatItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		wizard, folder, choice := r.spec("wizard"), r.spec("folder"), r.spec("choice")
		wizard.Agent.Ready, folder.Agent.Ready, folder.Agent.Base, choice.Agent.Ready = ">", ">", "claude", ">"
		r.rt.Script(r.place("choice"), sessiontest.Step{Screen: "May I go on? (y/n)"})
		r.rt.Script(r.place("wizard"), sessiontest.Step{Screen: "which colour?"})
		r.rt.Script(r.place("folder"), sessiontest.Step{Screen: "Do you trust this folder?"})
		tally := r.must(r.create(wizard, folder, choice))
		err := r.applier.Await(t.Context(), &tally)
		if err == nil {
			t.Fatal("they are taken for ready")
		}
		if tally.Done != 0 || tally.Failed != 3 {
			t.Errorf("%d done, %d failed, want 3 failed", tally.Done, tally.Failed)
		}
		for _, want := range []string{
			"session.wizard: not ready after 30s: it asks a question first (agentform attach wizard shows it, agentform send wizard --key KEY answers it)",
			"session.choice: not ready after 30s: it asks a question first (answer yes or no: agentform answer choice ANSWER)",
			"session.folder: not ready after 30s: it asks whether to trust the directory (agentform attach folder shows it, agentform send folder --key KEY answers it; trust = true in its agent block answers in advance)",
		} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("not said: %s\nin: %v", want, err)
			}
		}
	})
}

// An agent that asks something in its first turn has been ready, also if nobody looked
// while it was at work, and only its title and its screen show the question: its own
// file tells that it has begun.
func TestAwaitOneThatHasBegun(t *testing.T) {
	const asks = `{"timestamp":%q,"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","content":[{"text":"fix it"}]}}}`
	const works = `{"timestamp":%q,"type":"response_item","payload":{"type":"function_call","call_id":"1","name":"exec_command"}}`
	const context = `{"timestamp":%q,"type":"turn_context","payload":{}}`
	type line struct {
		text string
		at   time.Duration // since the start
	}
	for name, c := range map[string]struct {
		lines   []line
		resumed bool
		begun   bool
	}{
		"in this run":             {lines: []line{{asks, 2 * time.Second}, {works, 2 * time.Second}}, begun: true},
		"before it":               {lines: []line{{asks, -time.Hour}, {works, -time.Hour}}},
		"not at all":              {},
		"it only opened its file": {lines: []line{{context, 2 * time.Second}}},
		"in the run before, and this one opened its file": {lines: []line{{asks, -time.Hour}, {context, 2 * time.Second}}, resumed: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newFixture(t)
				r.applier.Agent = agent.For
				r.applier.BaseEnv = append(r.applier.BaseEnv, "HOME="+r.dir)
				s := r.spec("api")
				s.Agent = agent.Builtins()["codex"]
				s.Agent.Command = []string{"robot"}
				s.Prompt = session.PromptOf("fix it")
				at := func(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339Nano) }
				rollout := fmt.Sprintf(`{"timestamp":%q,"type":"session_meta","payload":{"id":"c1","cwd":%q,"timestamp":%q}}`, at(0), s.Workspace.Path, at(0)) + "\n"
				for _, l := range c.lines {
					rollout += fmt.Sprintf(l.text, at(l.at)) + "\n"
				}
				folder := filepath.Join(r.dir, ".codex", "sessions", "2026", "03", "14")
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
				if len(c.lines) > 0 {
					if err := os.WriteFile(filepath.Join(folder, "rollout-2026-c1.jsonl"), []byte(rollout), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				r.rt.Script(r.place("api"), sessiontest.Step{Title: "[ ! ] Action Required | shop", Screen: "  Would you like to run the following command?\n  $ touch made\n› 1. Yes, proceed (y)"})
				tally := r.must(r.create(s))
				if c.resumed {
					tally.Results[0].Record.Run.DeliveredAt = time.Now().Add(-time.Hour)
				}
				if err := r.applier.Await(t.Context(), &tally); c.begun != (err == nil) {
					t.Errorf("begun %v: %v", c.begun, err)
				}
			})
		})
	}
}
