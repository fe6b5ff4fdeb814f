package hub_test

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

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

// in runs a test on a clock of its own.
func in(t *testing.T, f func(r *room)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newRoom(t)) })
}

func TestAnAgentThatDiesComesBack(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api"))
		h, stop := r.hub()
		time.Sleep(11 * time.Second)
		r.rt.Kill(place("api"))
		h.Wake()
		time.Sleep(time.Second)
		k, _ := h.Snapshot().Of(session.Single("api"))
		if got := k.Diagnosis.Detail; !strings.Contains(got, "backing off, next try") || !strings.Contains(got, "(1 of 5)") {
			t.Errorf("a second after its death: %q", got)
		}
		if r.launches("api") != 1 {
			t.Error("it was started before its time")
		}
		time.Sleep(5 * time.Second)
		if r.launches("api") != 2 || !r.alive("api") {
			t.Errorf("it was started %d times", r.launches("api"))
		}
		stop()
		want := []string{"discovered running", "status_changed stale", "held backing_off", "apply_start failed", "run_ended self", "launched", "apply_complete"}
		got := r.events("api", history.Discovered, history.StatusChanged, history.Held, history.ApplyStart, history.RunEnded, history.Launched, history.ApplyComplete)
		if i := slices.Index(got, "discovered running"); i < 0 || !cmp.Equal(got[i:], want) {
			t.Errorf("its history (-want +got):\n%s", cmp.Diff(want, got[max(i, 0):]))
		}
		for _, e := range r.history("api") {
			if e.Kind == history.ApplyStart && e.Reason == "failed" && (e.By != history.ByHub || !strings.HasPrefix(e.New, "1 of ")) {
				t.Errorf("it was started again by %q, %q", e.By, e.New)
			}
		}
	})
}

// It is started again ever later, the operator is notified once on the way and once at
// the end, and then it stays as it is until somebody starts it by hand.
func TestACrashLoopEnds(t *testing.T) {
	in(t, func(r *room) {
		crash := sessiontest.Step{After: time.Second, Exit: &session.Exit{Cause: "self", Code: 1}}
		r.rt.Script(place("bad"), crash)
		specs := []session.Spec{r.spec("bad")}
		for i := range 50 {
			specs = append(specs, r.spec(fmt.Sprintf("good%d", i)))
		}
		r.apply(specs...)
		h, stop := r.hub()
		time.Sleep(30 * time.Minute)
		if got := r.launches("bad"); got != 6 {
			t.Errorf("it was started %d times, want 6", got)
		}
		if c := status.Changes(h.Snapshot().Plan)[session.Single("bad")]; c.Reason != plan.ReasonBudgetSpent || c.State != session.StateError {
			t.Errorf("it is %s: %s", c.State, c.Reason)
		}
		if got, want := r.events("bad", history.Escalated), []string{"escalated backing_off", "escalated budget_spent"}; !cmp.Equal(got, want) {
			t.Errorf("escalated %q", got)
		}
		told := slices.DeleteFunc(r.told(), func(s string) bool { return !strings.HasPrefix(s, "escalated") })
		if want := []string{"escalated backing_off", "escalated budget_spent"}; !cmp.Equal(told, want) {
			t.Errorf("notified of %q", told)
		}
		for i := range 50 {
			if got := r.launches(fmt.Sprintf("good%d", i)); got != 1 {
				t.Errorf("beside it a healthy one was started %d times", got)
			}
		}
		stop()

		// Another hub knows what happened, and starts nothing.
		h, stop = r.hub()
		time.Sleep(30 * time.Minute)
		if got := r.launches("bad"); got != 6 {
			t.Errorf("another hub: it was started %d times, want 6", got)
		}
		if got := r.events("bad", history.Escalated); len(got) != 2 {
			t.Errorf("another hub escalated: %q", got)
		}

		// Started by hand it has its whole budget again.
		r.rt.Script(place("bad"), sessiontest.Step{})
		if _, _, err := h.Do(r.t.Context(), "ada", engine.Override{Addresses: []session.Address{session.Single("bad")}, Desired: session.Running}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if !r.alive("bad") {
			t.Errorf("started by hand it does not live: %q", r.events("bad"))
		}
		r.rt.Kill(place("bad"))
		time.Sleep(17 * time.Second)
		if !r.alive("bad") {
			t.Error("its budget is still spent")
		}
		stop()
	})
}

// Whoever wants to hear that an agent has left, or that its turn has ended, is notified,
// also where nothing is started again.
func TestNotifiedOfEnds(t *testing.T) {
	in(t, func(r *room) {
		never := func(s *session.Spec) {
			s.Restart.Policy = "never"
			s.Agent.Patterns.Working = []string{"busy"}
			s.Agent.Ready = "^> $"
			s.Agent.StatusBarLines = 3
		}
		r.rt.Script(place("api"), sessiontest.Step{Screen: "> "}, sessiontest.Step{After: 30 * time.Second, Screen: "busy"},
			sessiontest.Step{After: 60 * time.Second, Screen: "all done\n> "}, sessiontest.Step{After: 200 * time.Second, Screen: "all done, really\n> "})
		r.apply(r.spec("api", never))
		_, _ = r.hub()
		time.Sleep(5 * time.Minute)
		if got := r.events("api", history.TurnEnded); len(got) != 1 {
			t.Errorf("of one turn it is told %q: %q", got, r.events("api"))
		}
		r.rt.Kill(place("api"))
		time.Sleep(time.Minute)
		r.mu.Lock()
		defer r.mu.Unlock()
		var told []string
		for _, e := range r.notified {
			told = append(told, strings.TrimSpace(e.Event+" "+e.Also))
		}
		if want := []string{"turn_ended", "exited stale"}; !cmp.Equal(told, want) {
			t.Errorf("notified of %q, want %q", told, want)
		}
	})
}

func TestPolicies(t *testing.T) {
	in(t, func(r *room) {
		policy := func(p string) func(*session.Spec) { return func(s *session.Spec) { s.Restart.Policy = p } }
		oneShot := func(s *session.Spec) { s.Agent.OneShot = true }
		r.apply(r.spec("never", policy("never")), r.spec("left"), r.spec("always", policy("always")), r.spec("done", oneShot, policy("always")), r.spec("stopped"), r.spec("paused"))
		h, _ := r.hub()
		by := func(hand engine.Override, name string) {
			hand.Addresses = []session.Address{session.Single(name)}
			if _, _, err := h.Do(r.t.Context(), "ada", hand); err != nil {
				t.Fatal(err)
			}
		}
		by(engine.Override{Desired: session.Stopped}, "stopped")
		by(engine.Override{Desired: session.Paused}, "paused")
		r.rt.Kill(place("never"))
		for _, name := range []string{"left", "always", "done"} {
			r.rt.Exit(place(name), session.Exit{Code: 0})
		}
		time.Sleep(time.Hour)
		for name, want := range map[string]int{"never": 1, "left": 1, "always": 2, "done": 1, "stopped": 0, "paused": 1} {
			if got := r.launches(name); got != want {
				t.Errorf("%s was started %d times, want %d: %q", name, got, want, r.events(name))
			}
		}
		if s, _ := r.rt.State(place("paused")); !s.Live.InputOff {
			t.Error("what was paused by hand is not paused any more")
		}
		for _, name := range []string{"never", "left"} {
			if got := r.events(name, history.Held); len(got) != 1 {
				t.Errorf("%s: %q, want it told once", name, got)
			}
		}
	})
}

// Everything goes at once, as with a tmux server or a host: all come back, a few at a
// time.
func TestAllAtOnce(t *testing.T) {
	in(t, func(r *room) {
		var specs []session.Spec
		for i := range 30 {
			specs = append(specs, r.spec(fmt.Sprintf("s%d", i)))
		}
		r.apply(specs...)
		h, _ := r.hub(func(c *hub.Config) { c.AtOnce = 3 })
		time.Sleep(time.Second)
		for i := range 30 {
			r.rt.Vanish(place(fmt.Sprintf("s%d", i)))
		}
		h.Wake()
		time.Sleep(6 * time.Second)
		alive := 0
		for i := range 30 {
			if r.alive(fmt.Sprintf("s%d", i)) {
				alive++
			}
		}
		if alive == 0 || alive > 3 {
			t.Errorf("%d of 30 came back at once, want at most 3", alive)
		}
		time.Sleep(time.Minute)
		for i := range 30 {
			if !r.alive(fmt.Sprintf("s%d", i)) {
				t.Errorf("s%d did not come back: %q", i, r.events(fmt.Sprintf("s%d", i)))
			}
		}
	})
}

// A secret that cannot be had is no try, is reported once, and is asked for again.
func TestSecretUnavailable(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api", func(s *session.Spec) { s.Secrets = []string{"KEY"} }), r.spec("web"))
		_, _ = r.hub()
		r.mu.Lock()
		r.secret = errors.New("the safe is shut")
		r.mu.Unlock()
		r.rt.Kill(place("api"))
		r.rt.Kill(place("web"))
		time.Sleep(time.Hour)
		if r.launches("api") != 1 || r.launches("web") != 2 {
			t.Errorf("started %d and %d times, want 1 and 2", r.launches("api"), r.launches("web"))
		}
		if got, want := r.events("api", history.Escalated), []string{"escalated secret_unavailable"}; !cmp.Equal(got, want) {
			t.Errorf("escalated %q", got)
		}
		r.mu.Lock()
		if r.secretAsked < 30 || r.secretAsked > 75 {
			t.Errorf("in an hour the source was asked %d times", r.secretAsked)
		}
		r.secret = nil
		r.mu.Unlock()
		time.Sleep(2 * time.Minute)
		if !r.alive("api") {
			t.Errorf("the secret is there, and it was not started: %q", r.events("api"))
		}
	})
}

// A repair asks for the secrets of each start that it finds, also of one that no look
// before it has planned.
func TestRepairAsksForSecrets(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api", func(s *session.Spec) { s.Secrets = []string{"KEY"} }), r.spec("web"))
		r.rt.Kill(place("api"))
		r.rt.Kill(place("web"))
		missing := func(c plan.Change, _ time.Time) string {
			if len(c.After.Secrets) > 0 {
				return "the safe is shut"
			}
			return ""
		}
		_, _, _ = r.open(history.ByHub).Repair(context.Background(), engine.HubInput{}, nil) // begins to back off
		time.Sleep(time.Minute)
		p, _, err := r.open(history.ByHub).Repair(context.Background(), engine.HubInput{Missing: missing}, nil)
		if err != nil || r.launches("api") != 1 || r.launches("web") != 2 {
			t.Errorf("started %d and %d times, want 1 and 2: %v", r.launches("api"), r.launches("web"), err)
		}
		if c := status.Changes(p)[session.Single("api")]; c.Reason != plan.ReasonSecret || c.Detail != "the safe is shut" {
			t.Errorf("the start without its secret: %s, %q", c.Reason, c.Detail)
		}
	})
}

// A workspace that leaves its branch is reported once, and that it is back; nobody
// touches it.
func TestABranchDrifts(t *testing.T) {
	in(t, func(r *room) {
		spec := r.spec("api", func(s *session.Spec) {
			s.Workspace.Mode, s.Workspace.Repo, s.Branch = session.InPlace, r.dir, "work"
			s.Workspace.Path = r.dir
		})
		r.branch[r.dir] = "work"
		r.apply(spec)
		h, _ := r.hub()
		on := func(b string) {
			r.mu.Lock()
			r.branch[r.dir] = b
			r.mu.Unlock()
			time.Sleep(time.Minute)
		}
		on("main")
		on("work")
		on("main")
		want := []string{"branch_mismatch main", "branch_restored work", "branch_mismatch main"}
		if got := r.events("api", history.BranchMismatch, history.BranchRestored); !cmp.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		if r.launches("api") != 1 || !r.alive("api") {
			t.Error("it was touched")
		}
		// An apply that finds it too says nothing new.
		rec := r.open("ada")
		q := engine.Request{Wanted: []session.Spec{spec}}
		p, err := rec.Plan(r.t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rec.Apply(r.t.Context(), q, p, nil); err != nil && !strings.Contains(err.Error(), "on branch") && !strings.Contains(err.Error(), `is on "main"`) {
			t.Fatal(err)
		}
		rec.Close()
		time.Sleep(time.Minute)
		if got := r.events("api", history.BranchMismatch, history.BranchRestored); !cmp.Equal(got, want) {
			t.Errorf("after an apply it is told %q, want %q", got, want)
		}
		// Pausing what works in the wrong place brings nothing back.
		if _, _, err := h.Do(r.t.Context(), "ada", engine.Override{Addresses: []session.Address{session.Single("api")}, Desired: session.Paused}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := r.events("api", history.BranchMismatch, history.BranchRestored); !cmp.Equal(got, want) {
			t.Errorf("paused, it is told %q, want %q", got, want)
		}
	})
}

// An agent that says that it works and does nothing is ended and started again; one
// that cannot be seen to work is not.
func TestHung(t *testing.T) {
	in(t, func(r *room) {
		working := func(s *session.Spec) { s.Agent.Patterns.Working = []string{"busy"}; s.Agent.StatusBarLines = 3 }
		r.rt.Script(place("hung"), sessiontest.Step{After: time.Second, Screen: "busy"})
		var ticks []sessiontest.Step
		for i := range 120 {
			ticks = append(ticks, sessiontest.Step{After: time.Duration(i) * time.Minute, Screen: fmt.Sprintf("I look.\n%c busy (%dm · %d tokens · esc to interrupt)", '⠋'+rune(i), i, 7*i)})
		}
		r.rt.Script(place("stalled"), ticks...)
		r.rt.Script(place("quiet"), sessiontest.Step{After: time.Second, Screen: "hello"})
		var moves []sessiontest.Step
		for i := range 120 {
			moves = append(moves, sessiontest.Step{After: time.Duration(i) * time.Minute, Screen: fmt.Sprintf("busy %d", i)})
		}
		r.rt.Script(place("busy"), moves...)
		r.apply(r.spec("hung", working), r.spec("quiet", working), r.spec("busy", working), r.spec("stalled", working))
		_, _ = r.hub()
		time.Sleep(20 * time.Minute)
		for name, want := range map[string]int{"hung": 2, "quiet": 1, "busy": 1, "stalled": 2} {
			if got := r.launches(name); got != want {
				t.Errorf("%s was started %d times, want %d: %q", name, got, want, r.events(name))
			}
		}
		if got := r.events("hung", history.Unhealthy); !cmp.Equal(got, []string{"unhealthy hung"}) {
			t.Errorf("told %q", got)
		}
		var found, repaired time.Time
		for _, e := range r.history("hung") {
			switch e.Kind {
			case history.Unhealthy:
				found = e.Time
			case history.ApplyStart:
				repaired = e.Time
			}
		}
		if took, want := repaired.Sub(found), r.spec("hung").Restart.Backoff.Initial.D(); took != want {
			t.Errorf("it was restarted %s after the look that found it hung, want the backoff of %s", took, want)
		}
	})
}

// While somebody holds the state's lock the hub only looks.
func TestOnlyLooksBesideAnApply(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api"))
		h, _ := r.hub()
		r.rt.Faults.Slow(sessiontest.OpStop, 2*time.Minute)
		done := make(chan error, 1)
		go func() {
			rec := r.open("ada")
			defer rec.Close()
			_, _, err := rec.Override(r.t.Context(), engine.Override{Addresses: []session.Address{session.Single("api")}, Desired: session.Running, Restart: true}, nil)
			done <- err
		}()
		time.Sleep(time.Second)
		r.rt.Kill(place("api"))
		time.Sleep(time.Minute)
		if age := time.Since(h.Snapshot().At); age > 11*time.Second {
			t.Errorf("its last look was %s ago", age)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := r.launches("api"); got != 2 {
			t.Errorf("it was started %d times, want 2: %q", got, r.events("api"))
		}
	})
}

func TestTwoHubs(t *testing.T) {
	r := newRoom(t)
	h, stop := r.hub()
	if _, err := h.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	holder, running := hub.Running(r.dir)
	if !running || holder.User != history.ByHub {
		t.Errorf("running %v, by %+v", running, holder)
	}
	second := hub.New(hub.Config{DataDir: r.dir, Open: r.open})
	var taken *hub.TakenError
	if err := second.Run(t.Context()); !errors.As(err, &taken) || taken.Holder.PID != holder.PID || !strings.Contains(err.Error(), fmt.Sprintf("pid %d on ", holder.PID)) {
		t.Errorf("the second: %v", err)
	}
	if text := (&hub.TakenError{}).Error(); strings.Contains(text, "pid") {
		t.Errorf("a hub that has not said who it is: %s", text)
	}
	stop()
	if _, running := hub.Running(r.dir); running {
		t.Error("it is said to run, and does not")
	}
}

// A hub whose data directory was taken away ends: another one can begin there, and is
// not unmade by it.
func TestDataFolderRemoved(t *testing.T) {
	r := newRoom(t)
	dir := t.TempDir()
	run := func() (*hub.Hub, chan error) {
		h := hub.New(hub.Config{DataDir: dir, Open: r.open, Activity: activity.New(r.dir, r.dir, agent.For)})
		ended := make(chan error, 1)
		go func() { ended <- h.Run(t.Context()) }()
		if _, err := h.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		return h, ended
	}
	first, ended := run()
	if err := os.Remove(filepath.Join(dir, hub.LockFile)); err != nil {
		t.Fatal(err)
	}
	_, _ = run()
	first.Wake()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "was removed") {
		t.Errorf("it ended: %v", err)
	}
	if holder, running := hub.Running(dir); !running || holder.PID == 0 {
		t.Errorf("the second: running %v, by %+v", running, holder)
	}
}

// Beside a state that a newer agentform wrote the hub looks, says so, and repairs
// nothing, until it can read it again.
func TestNewerState(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api"))
		h, _ := r.hub()
		time.Sleep(time.Second)
		path := filepath.Join(r.dir, "state.json")
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"version": 99, "serial": 99, "agentform": "9.0.0", "sessions": []}`), 0o600); err != nil {
			t.Fatal(err)
		}
		r.rt.Kill(place("api"))
		time.Sleep(time.Minute)
		s := h.Snapshot()
		var newer *state.NewerError
		if !errors.As(s.Fault, &newer) || len(s.Sessions) != 1 || s.Sessions[0].Diagnosis.State != session.StateStale {
			t.Errorf("fault %v, it sees %+v", s.Fault, s.Sessions)
		}
		if r.launches("api") != 1 {
			t.Error("it repaired beside a state that it cannot read")
		}
		if err := os.WriteFile(path, old, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if h.Snapshot().Fault != nil || !r.alive("api") {
			t.Errorf("the state can be read again: fault %v, it lives: %v", h.Snapshot().Fault, r.alive("api"))
		}
	})
}

// A dependent is started after what it depends on is ready, also when that shows
// nothing at all before.
func TestDependentsWaitForABlankScreen(t *testing.T) {
	in(t, func(r *room) {
		slow := func(s *session.Spec) { s.Agent.Ready, s.Agent.ReadyTimeout = "^> ?$", session.Duration(time.Minute) }
		after := func(s *session.Spec) { slow(s); s.DependsOn = []session.Address{session.Single("a")} }
		for _, name := range []string{"a", "b"} {
			r.rt.Script(place(name), sessiontest.Step{After: 20 * time.Second, Screen: "> "})
		}
		r.apply(r.spec("a", slow), r.spec("b", after))
		r.hub(func(c *hub.Config) { c.AtOnce = 1 })
		r.rt.Kill(place("b"))
		r.rt.Kill(place("a"))
		time.Sleep(2 * time.Minute)
		a, b := r.record("a").Run, r.record("b").Run
		if a.Number != 2 || b.Number != 2 || b.StartedAt.Sub(a.StartedAt) < 20*time.Second {
			t.Errorf("a was started %d times, b %d times, %s after a", a.Number, b.Number, b.StartedAt.Sub(a.StartedAt))
		}
	})
}

// What waits is started when a place is free, the more urgent first.
func TestQueue(t *testing.T) {
	in(t, func(r *room) {
		urgent := func(n int) func(*session.Spec) { return func(s *session.Spec) { s.Priority = n } }
		r.apply(r.spec("low", urgent(1)), r.spec("mid", urgent(5)), r.spec("high", urgent(9)))
		h, _ := r.hub(func(c *hub.Config) { c.MaxRunning = 2 })
		for _, name := range []string{"low", "mid", "high"} {
			r.rt.Kill(place(name))
		}
		time.Sleep(time.Minute)
		if r.alive("low") || !r.alive("mid") || !r.alive("high") {
			t.Errorf("alive: low %v, mid %v, high %v", r.alive("low"), r.alive("mid"), r.alive("high"))
		}
		if c := status.Changes(h.Snapshot().Plan)[session.Single("low")]; c.Reason != plan.ReasonQueued {
			t.Errorf("low is held for %s: %s", c.Reason, c.Detail)
		}
		if _, _, err := h.Do(r.t.Context(), "ada", engine.Override{Addresses: []session.Address{session.Single("mid")}, Desired: session.Stopped}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if !r.alive("low") {
			t.Error("a place is free, and it was not started")
		}
	})
}
