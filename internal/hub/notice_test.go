package hub_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

// Each turn that an agent was given something for is another thing to be told of, however
// soon it follows; what it does by itself is not.
func TestEachGivenTurnIsAnother(t *testing.T) {
	in(t, func(r *room) {
		shows := func(s *session.Spec) {
			s.Agent.Patterns.Working = []string{"busy"}
			s.Agent.Ready = "^> $"
			s.Agent.StatusBarLines = 3
		}
		r.rt.Script(place("api"), sessiontest.Step{Screen: "> "},
			sessiontest.Step{After: 30 * time.Second, Screen: "busy"}, sessiontest.Step{After: 50 * time.Second, Screen: "done\n> "},
			sessiontest.Step{After: 70 * time.Second, Screen: "busy"}, sessiontest.Step{After: 90 * time.Second, Screen: "done\n> "},
			sessiontest.Step{After: 122 * time.Second, Screen: "busy"}, sessiontest.Step{After: 142 * time.Second, Screen: "done\n> "})
		r.apply(r.spec("api", shows))
		_, _ = r.hub()
		time.Sleep(2 * time.Minute)
		rec := r.record("api")
		sent := time.Now()
		if err := history.Append(state.Folder(r.dir, rec), history.Event{Time: sent, Kind: history.Sent, Address: rec.Address, ID: rec.ID, Run: rec.Run.ID}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		r.mu.Lock()
		defer r.mu.Unlock()
		var given []time.Time
		for _, e := range r.notified {
			if e.Event == "turn_ended" {
				given = append(given, e.Given)
			}
		}
		if len(given) != 3 || !given[0].Equal(given[1]) || given[1].Equal(sent) || !given[2].Equal(sent) {
			t.Errorf("turns of what was given at %v, want the last at %s: %q", given, sent, r.events("api"))
		}
	})
}

// A question that another command recorded is notified with its answers, before the hub
// has read the screen.
func TestAQuestionThatAnotherCommandRecorded(t *testing.T) {
	in(t, func(r *room) {
		r.rt.Script(place("api"), sessiontest.Step{Screen: "> "})
		r.apply(r.spec("api"))
		_, _ = r.hub()
		time.Sleep(time.Minute)
		rec := r.record("api")
		asked := session.Question{ID: "0a1b2c3d", Text: "run it?", Options: []session.Option{{Number: 1, Word: session.Yes, Label: "Yes"}}}
		if err := history.Append(state.Folder(r.dir, rec), history.Event{Time: time.Now(), Kind: history.StatusChanged, Address: rec.Address,
			ID: rec.ID, Run: rec.Run.ID, Old: "running", New: "blocked", Question: &asked}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, e := range r.notified {
			if e.Event == "blocked" {
				if e.Question == nil || e.Question.ID != asked.ID || len(e.Question.Options) != 1 {
					t.Errorf("the question is %+v, want %+v", e.Question, asked)
				}
				if got := []string{e.Word, e.Tone, e.Remedy}; !slices.Equal(got, []string{"asks", "attention", "to answer it: agentform answer api ANSWER"}) {
					t.Errorf("to people it is %q", got)
				}
				return
			}
		}
		t.Errorf("nobody was notified: %q", r.events("api"))
	})
}

// A notification has what the session is to people, as its document has it.
func TestNotificationsForPeople(t *testing.T) {
	in(t, func(r *room) {
		r.rt.Script(place("api"), sessiontest.Step{Screen: "> "}, sessiontest.Step{After: 30 * time.Second, Screen: "trust this folder?"},
			sessiontest.Step{After: 60 * time.Second, Exit: &session.Exit{Code: 3}})
		r.apply(r.spec("api", func(s *session.Spec) {
			s.Agent.Patterns.Blocked, s.Restart.Policy = []string{"trust this folder"}, "never"
		}))
		_, _ = r.hub()
		time.Sleep(2 * time.Minute)
		r.mu.Lock()
		defer r.mu.Unlock()
		got := map[string][]string{}
		for _, e := range r.notified {
			got[e.Event] = []string{e.Word, e.Tone, e.Remedy}
		}
		want := map[string][]string{
			"blocked": {"asks", "attention", "to answer it: agentform answer api ANSWER"},
			"exited":  {"exited", "attention", "to restart it: agentform restart api"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("notified (-want +got):\n%s", diff)
		}
	})
}

// What an agent asks while its start waits for it to be ready is reported once the start has
// failed for that.
func TestAQuestionThatAStartFailsFor(t *testing.T) {
	in(t, func(r *room) {
		spec := r.spec("api", func(s *session.Spec) {
			s.Agent.PromptVia, s.Agent.Ready = "paste", "^> $"
			s.Agent.ReadyTimeout = session.Duration(12 * time.Second)
			s.Agent.Patterns.Blocked = []string{"trust this folder"}
			s.Prompt = session.Prompt{Text: "work", Digest: "0123456789ab"}
		})
		r.rt.Script(place("api"), sessiontest.Step{Screen: "Do you trust this folder? (y/n)"})
		_, _ = r.hub()
		rec := r.open("ada")
		defer rec.Close()
		q := engine.Request{Wanted: []session.Spec{spec}}
		p, err := rec.Plan(r.t.Context(), q)
		if err != nil {
			r.t.Fatal(err)
		}
		if tally, _ := rec.Apply(r.t.Context(), q, p, nil); tally.Failed != 1 {
			r.t.Fatalf("it was started: %+v", tally)
		}
		time.Sleep(time.Second)
		if got := r.told(); !slices.Contains(got, "blocked") {
			r.t.Errorf("told %q: %q", got, r.events("api"))
		}
	})
}
