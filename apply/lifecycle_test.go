package apply_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

func TestCreate(t *testing.T) {
	r := newRoom(t)
	s := r.spec("api")
	s.Prompt = session.PromptOf("write tests")
	s.Env, s.Agent.Env = map[string]string{"LOG": "debug"}, map[string]string{"LOG": "info", "MODEL": "m"}
	tally := r.must(r.create(s))
	rec := r.record("api")
	if !regexp.MustCompile(`^api-[0-9a-f]{8}$`).MatchString(rec.ID) || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(rec.Run.ID) {
		t.Errorf("id %q, run %q", rec.ID, rec.Run.ID)
	}
	if rec.Intent != session.Settled || rec.Trouble != "" || rec.Origin != session.FromManifest || rec.Run.Number != 1 ||
		rec.Run.Agent.PID == 0 || rec.Run.BootID == "" || rec.Run.DeliveredAt.IsZero() || rec.Run.PromptSHA != s.Prompt.Digest {
		t.Errorf("record %+v", rec)
	}
	want := session.Tree{Path: s.Workspace.Path, Mode: session.Worktree, Repo: "/repo", Branch: s.Branch, Created: true, Made: true, Ready: true}
	if diff := cmp.Diff(want, rec.Tree); diff != "" {
		t.Errorf("workspace: %s", diff)
	}
	st, _ := r.rt.State(r.place("api"))
	l := st.Launch
	if l.Mark != (session.Mark{Project: lineage, Address: s.Address, ID: rec.ID, Run: rec.Run.ID, Hash: s.Hash()}) {
		t.Errorf("mark %+v", l.Mark)
	}
	if diff := cmp.Diff([]string{"robot", "write tests"}, l.Argv); diff != "" {
		t.Errorf("argv: %s", diff)
	}
	if l.Dir != s.Workspace.Path || !slices.Contains(l.Env, "LOG=debug") || !slices.Contains(l.Env, "MODEL=m") || slices.Contains(l.Env, "LOG=info") {
		t.Errorf("in %s with %v", l.Dir, l.Env)
	}
	if info, err := os.Stat(l.RunDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the run's folder: %v, %v", info, err)
	}
	if res := tally.Results[0]; !res.Started || res.Record.ID != rec.ID {
		t.Errorf("result %+v", res)
	}
	kinds := []history.Kind{}
	logged, err := history.Read(state.Folder(r.dir, rec), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range logged {
		kinds = append(kinds, e.Kind)
		if e.ID != rec.ID || e.By != "ada" {
			t.Errorf("event %+v", e)
		}
	}
	if diff := cmp.Diff([]history.Kind{history.ApplyStart, history.Launched, history.PromptDelivered, history.ApplyComplete}, kinds); diff != "" {
		t.Errorf("history: %s", diff)
	}
}

func TestCreateThenPause(t *testing.T) {
	r := newRoom(t)
	p := r.create(r.spec("api"))
	p.Changes[0].Then = plan.Pause
	r.must(p)
	if st, _ := r.rt.State(r.place("api")); !st.Live.InputOff {
		t.Error("it is not paused")
	}
}

func TestPromptIsTypedWhenTheAgentIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		s := r.spec("api")
		s.Agent.PromptVia, s.Agent.Ready, s.Prompt = "paste", ">", session.PromptOf("go")
		r.rt.Script(r.place("api"), sessiontest.Step{Screen: "loading"}, sessiontest.Step{After: 3 * time.Second, Screen: "loading\n>"})
		r.must(r.create(s))
		st, _ := r.rt.State(r.place("api"))
		if diff := cmp.Diff([]session.Input{{Text: "go"}}, st.Sent); diff != "" {
			t.Error(diff)
		}
		rec := r.record("api")
		if d := rec.Run.DeliveredAt.Sub(rec.Run.StartedAt); rec.Intent != session.Settled || d < 3*time.Second || d > 4*time.Second {
			t.Errorf("delivered after %s: %+v", d, rec)
		}
		r.event(history.PromptDelivered, "api")
	})
}

func TestPromptThatCannotBeTypedIsTypedByTheNextApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		s := r.spec("api")
		s.Agent.PromptVia, s.Agent.Ready, s.Prompt = "paste", ">", session.PromptOf("go")
		s.Agent.ReadyTimeout = session.Duration(5 * time.Second)
		r.rt.Script(r.place("api"), sessiontest.Step{Screen: "Do you trust this folder?"}, sessiontest.Step{After: time.Minute, Screen: ">"})
		_, err := r.run(r.create(s))
		var notReady *apply.NotReadyError
		if !errors.As(err, &notReady) || !strings.Contains(err.Error(), "within 5s") || !strings.Contains(err.Error(), "trust this folder") {
			t.Fatalf("error: %v", err)
		}
		rec := r.record("api")
		if rec.Intent != session.Creating || rec.Place.Name == "" || !rec.Run.DeliveredAt.IsZero() {
			t.Fatalf("record %+v", rec)
		}
		time.Sleep(time.Minute)
		s.Prompt.Text = "" // as it comes from the record: only the digest
		r.must(r.one(plan.Update, s))
		if st, _ := r.rt.State(r.place("api")); len(st.Sent) != 1 || st.Sent[0].Text != "go" || st.Launches != 1 {
			t.Errorf("sent %v in %d launches", st.Sent, st.Launches)
		}
		if rec := r.record("api"); rec.Intent != session.Settled || rec.Trouble != "" {
			t.Errorf("record %+v", rec)
		}
	})
}

func TestAgentThatLeavesBeforeItIsReady(t *testing.T) {
	r := newRoom(t)
	s := r.spec("api")
	s.Agent.PromptVia, s.Agent.Ready, s.Prompt = "paste", ">", session.PromptOf("go")
	r.rt.Script(r.place("api"), sessiontest.Step{Screen: "no account", Exit: &session.Exit{Code: 7}})
	_, err := r.run(r.create(s))
	if err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "no account") {
		t.Errorf("error: %v", err)
	}
}

func TestSetupRunsOnce(t *testing.T) {
	r := newRoom(t)
	s := r.spec("api")
	s.Workspace.Setup = []string{"sh", "-c", "echo making; test -e ../allowed && echo $HOME >> made"}
	_, err := r.run(r.create(s))
	var setup *apply.SetupError
	if !errors.As(err, &setup) || setup.Output != "making\n" {
		t.Fatalf("error: %v", err)
	}
	rec := r.record("api")
	if !strings.HasPrefix(rec.Trouble, "setup: sh -c") || rec.Intent != session.Creating || rec.Tree.Ready || len(r.rt.Places()) != 0 {
		t.Fatalf("record %+v, places %v", rec, r.rt.Places())
	}
	if e := r.event(history.ApplyErrored, "api"); e.Excerpt != "making\n" {
		t.Errorf("excerpt %q", e.Excerpt)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.Workspace.Path), "allowed"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.must(r.create(s))
	if again := r.record("api"); again.ID != rec.ID || again.Run.ID == rec.Run.ID || !again.Tree.Ready || !again.Tree.Created || !again.Tree.Made {
		t.Errorf("record %+v, was %+v", again, rec)
	}
	r.must(r.one(plan.Restart, s))
	if made, _ := os.ReadFile(filepath.Join(s.Workspace.Path, "made")); string(made) != "/home/somebody\n" {
		t.Errorf("setup left %q", made)
	}
}

func TestSetupEndsWithTheApply(t *testing.T) {
	r := newRoom(t)
	s := r.spec("api")
	s.Workspace.Setup = []string{"sh", "-c", "sleep 600 & echo $! > ../pid; wait"}
	pidFile := filepath.Join(filepath.Dir(s.Workspace.Path), "pid")
	ctx, cancel := withCancel(t)
	go func() {
		defer cancel()
		for {
			if b, _ := os.ReadFile(pidFile); strings.HasSuffix(string(b), "\n") {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if _, err := r.applier.Run(ctx, r.create(s), nil); !errors.Is(err, apply.ErrInterrupted) {
		t.Errorf("error: %v", err)
	}
	b, _ := os.ReadFile(pidFile)
	if alive(strings.TrimSpace(string(b))) {
		t.Error("what the setup command started lives on")
	}
}

func TestRestartInPlaceKeepsTheScreen(t *testing.T) {
	r := newRoom(t)
	s := r.spec("api")
	s.Prompt = session.PromptOf("first")
	r.must(r.create(s))
	old := r.record("api")
	r.rt.Edit(r.place("api"), func(st *sessiontest.State) { st.Live.Screen = "all my work" })
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
	if err != nil || !strings.Contains(string(text), "all my work") || !strings.Contains(string(text), old.Run.ID+": restart: asked for") {
		t.Errorf("transcript %q, %v", text, err)
	}
	if e := r.event(history.RunEnded, "api"); e.Run != old.Run.ID || e.Detail != "SIGTERM" {
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
			r := newRoom(t)
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
	r := newRoom(t)
	s := r.spec("api")
	r.must(r.create(s))
	r.rt.Vanish(r.place("api"))
	r.must(r.one(plan.Restart, s))
	if diff := cmp.Diff([]string{"create api", "stop api", "create api"}, r.calls()); diff != "" {
		t.Errorf("leftovers are ended, then a new place is made: %s", diff)
	}
}

func TestStopKeepsTheRecordAndTheWorkspace(t *testing.T) {
	r := newRoom(t)
	s := r.spec("api")
	r.must(r.create(s))
	s.Desired = session.Stopped
	r.must(r.one(plan.Stop, s))
	rec := r.record("api")
	if rec.Spec.Desired != session.Stopped || rec.Intent != session.Settled || rec.Place != (session.Place{}) || rec.Run.ID == "" {
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
	r := newRoom(t)
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
	r := newRoom(t)
	for _, c := range []struct {
		name, onDestroy string
		risk            git.Risk
		kept            string
	}{
		{"kept", session.Keep, git.Risk{}, "on_destroy is keep"},
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
	r := newRoom(t)
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

func (s stubborn) Remove(ctx ctx, p session.Place) error { return nil }

func TestDeleteLooksBeforeItForgets(t *testing.T) {
	r := newRoom(t)
	r.must(r.create(r.spec("api")))
	r.applier.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return stubborn{r.rt}, nil }
	if _, err := r.run(r.removal("api")); err == nil || !strings.Contains(err.Error(), "still there") {
		t.Errorf("error: %v", err)
	}
	if rec := r.record("api"); rec.Intent != session.Removing {
		t.Errorf("record %+v", rec)
	}
}

func TestReplaceIsAnotherSession(t *testing.T) {
	r := newRoom(t)
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
	r := newRoom(t)
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
	r := newRoom(t)
	s := r.spec("api")
	s.Prompt = session.PromptOf("go")
	r.must(r.create(s))
	old := r.record("api")
	if err := r.store.Delete(s.Address); err != nil {
		t.Fatal(err)
	}
	r.must(r.one(plan.Adopt, s))
	rec := r.record("api")
	if rec.ID != old.ID || rec.Run.ID != old.Run.ID || rec.Run.Agent != old.Run.Agent || rec.Run.DeliveredAt.IsZero() || rec.Place != old.Place || !rec.Tree.Created {
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
	r := newRoom(t)
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
	r := newRoom(t)
	if err := os.WriteFile(filepath.Join(r.dir, "agents"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if tally := r.must(r.create(r.spec("a"), r.spec("b"))); len(tally.Warnings) != 1 || tally.Warnings[0].Severity != session.Warning {
		t.Errorf("warnings %+v", tally.Warnings)
	}
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		slow, never := r.spec("slow"), r.spec("never")
		slow.Agent.Ready, never.Agent.Ready = ">", ">"
		r.rt.Script(r.place("slow"), sessiontest.Step{After: 9 * time.Second, Screen: ">"})
		tally := r.must(r.create(slow, never, r.spec("plain")))
		began := time.Now()
		err := r.applier.Await(t.Context(), tally)
		if err == nil || !strings.Contains(err.Error(), "session.never: it was not ready within 30s") || strings.Contains(err.Error(), "slow") {
			t.Errorf("error: %v", err)
		}
		if d := time.Since(began); d < 30*time.Second || d > 31*time.Second {
			t.Errorf("it took %s", d)
		}
		if diff := cmp.Diff([]string{"ready plain", "ready slow"}, r.told(history.Ready)); diff != "" {
			t.Error(diff)
		}
	})
}
