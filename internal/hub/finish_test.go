package hub_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

// finishes is a session that is done when its turn has ended.
func finishes(s *session.Spec) {
	s.Finish = session.FinishTurn
	s.Agent.PromptVia, s.Agent.Ready, s.Agent.StatusBarLines = "argument", "^>$", 3
	s.Agent.Patterns.Working = []string{"busy"}
	s.Prompt = session.PromptOf("Fix it.")
}

// TestFinishedTasks checks that tasks that are done when their turn has ended leave their
// places to others, whatever hub sees it, that nothing starts them again, and that who starts
// one by hand has it until its next turn has ended.
func TestFinishedTasks(t *testing.T) {
	in(t, func(r *room) {
		names := []string{"a", "b", "c", "d", "e"}
		var specs []session.Spec
		for _, n := range names {
			specs = append(specs, r.spec(n, finishes))
			r.rt.Script(place(n), sessiontest.Step{Screen: "busy"}, sessiontest.Step{After: 25 * time.Second, Screen: "Fixed.\n>"})
			r.rt.Script(place(n), sessiontest.Step{Screen: ">"}, // in the conversation that it resumes
				sessiontest.Step{After: time.Hour, Screen: "busy"}, sessiontest.Step{After: time.Hour + time.Minute, Screen: "More.\n>"})
		}
		limit := func(c *hub.Config) { c.MaxRunning = 2 }
		two := plan.Options{MaxRunning: 2}
		r.applyWith(two, specs...)
		for range 20 { // hubs that do not last
			_, stop := r.hub(limit)
			time.Sleep(9 * time.Second)
			if n := len(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !r.alive(n) })); n > 2 {
				t.Fatalf("%d agents live", n)
			}
			stop()
		}
		h, stop := r.hub(limit)
		defer stop()
		r.applyWith(two, specs...)
		time.Sleep(time.Minute)
		for _, n := range names {
			rec := r.record(n)
			if f := rec.Finished; rec.Run.Number != 1 || f == nil || f.By != session.FinishTurn || r.alive(n) {
				t.Errorf("%s: run %d, finished: %+v", n, rec.Run.Number, f)
			}
			if got := r.events(n, history.Finished, history.TurnInterrupted, history.PromptDelivered); len(got) != 2 || got[1] != "finished turn" {
				t.Errorf("%s: %q", n, got)
			}
		}
		if _, _, err := h.Do(context.Background(), "ada", engine.Override{Addresses: []session.Address{"session.a"}, Desired: session.Running}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Minute)
		if !r.alive("a") || r.record("a").Finished != nil {
			t.Error("the session that was started by hand has ended by itself")
		}
		time.Sleep(20 * time.Minute)
		if r.alive("a") || r.record("a").Finished == nil {
			t.Error("the session that was started by hand is not finished after its next turn")
		}
	})
}

// TestNotFinished checks that an agent that asks, has failed, is at a limit or was given
// another message is not ended as one that is done.
func TestNotFinished(t *testing.T) {
	in(t, func(r *room) {
		shows := map[string]string{"asks": "Shall I? (y/n)", "limit": "rate limit exceeded", "fails": "I give up\n>", "works": "busy again"}
		var specs []session.Spec
		for n, screen := range shows {
			r.rt.Script(place(n), sessiontest.Step{Screen: "busy"}, sessiontest.Step{After: 25 * time.Second, Screen: screen})
			specs = append(specs, r.spec(n, finishes, func(s *session.Spec) {
				s.Agent.Patterns.Blocked, s.Agent.Patterns.BlockedAPI, s.Agent.Patterns.Failed = []string{`\(y/n\)`}, []string{"rate limit"}, []string{"give up"}
			}))
		}
		r.apply(specs...)
		_, stop := r.hub()
		defer stop()
		time.Sleep(5 * time.Minute)
		for n := range shows {
			if !r.alive(n) || r.record(n).Finished != nil {
				t.Errorf("%s is ended: %+v", n, r.record(n).Finished)
			}
		}
	})
}

// TestATurnThatIsCutOff checks that the turn of an agent that the hub restarts, since it is hung, has not
// ended when it rests, and that the session needs a person then.
func TestATurnThatIsCutOff(t *testing.T) {
	in(t, func(r *room) {
		r.rt.Script(place("api"), sessiontest.Step{Screen: "busy"})
		r.rt.Script(place("api"), sessiontest.Step{Screen: ">"}, // in the conversation that it resumes
			sessiontest.Step{After: time.Hour, Screen: "busy"}, sessiontest.Step{After: time.Hour + time.Minute, Screen: "More.\n>"})
		r.apply(r.spec("api", finishes, func(s *session.Spec) { s.Finish, s.Prompt = session.FinishNever, session.Prompt{} }))
		if err := history.Append(state.Folder(r.dir, r.record("api")), history.Event{Time: time.Now(), Kind: history.Sent, Address: "session.api", Detail: "9 bytes"}); err != nil {
			t.Fatal(err)
		}
		h, stop := r.hub()
		defer stop()
		time.Sleep(17 * time.Minute)
		if got, want := r.events("api", history.TurnInterrupted, history.TurnEnded), []string{"turn_interrupted unhealthy"}; !slices.Equal(got, want) {
			t.Errorf("after the restart: %q, want %q", got, want)
		}
		doc := status.Of(h.Snapshot().Sessions[0])
		if doc.Needs == nil || doc.Needs.Reason != string(follow.NeedsResume) || doc.Word != status.WordInterrupted || doc.Detail == "" {
			t.Errorf("it is %s (%q), and needs %+v", doc.Word, doc.Detail, doc.Needs)
		}
		time.Sleep(time.Hour)
		if got, want := r.events("api", history.TurnInterrupted, history.TurnEnded), []string{"turn_interrupted unhealthy", "turn_ended"}; !slices.Equal(got, want) {
			t.Errorf("after its next turn: %q, want %q", got, want)
		}
	})
}

// TestAKilledCreation checks that the hub completes a creation whose command was killed: its
// backoff counts from when the hub found it.
func TestAKilledCreation(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api"))
		r.rt.Vanish(place("api"))
		e := r.open("ada")
		defer e.Close()
		store, err := state.Open(t.Context(), e.StatePath, e.Project, e.Version, e.Who, e.LockWait, "")
		if err != nil {
			t.Fatal(err)
		}
		rec := r.record("api")
		rec.Intent, rec.Run.ID = session.Creating, "0123456789abcdef"
		if err := errors.Join(store.Put(rec), store.Close()); err != nil {
			t.Fatal(err)
		}
		_, stop := r.hub()
		defer stop()
		time.Sleep(time.Minute)
		if !r.alive("api") {
			t.Errorf("it is not created: %q", r.events("api"))
		}
	})
}
