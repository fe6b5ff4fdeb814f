package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentform/agentform/session"
)

// Whatever is known of a session that cannot be observed, of an agent of any kind:
// while it lives and nothing about it was changed, nobody ends it, starts it again
// or takes it away, and that its time is over is said.
func TestAnUnobservedSessionIsLeftAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"at_start", "at_first_prompt", "after_first_turn"}).Draw(t, "kind")
		wanted := restartable("api", func(s *session.Spec) { s.Agent.Observable = kind })
		s := newStage().want(wanted).record(wanted).live("api", func(l *session.Live) {
			l.Title, l.Screen = rapid.String().Draw(t, "title"), rapid.String().Draw(t, "screen")
		})
		overdue := rapid.Bool().Draw(t, "overdue")
		s.in.World.Overdue = map[string]bool{"run-api": overdue}
		switch rapid.SampledFrom([]string{"a person", "by hand", "the hub"}).Draw(t, "who") {
		case "by hand":
			s.in.ByHand = true
		case "the hub":
			s.byHub()
		}
		p := Compute(s.in)
		if c := p.Changes[0]; c.Action.Acts() {
			t.Fatalf("%s: %s", c.Action, c.Detail)
		}
		told := slices.ContainsFunc(p.Problems, func(d session.Diagnostic) bool {
			return d.Code == string(ReasonUnobserved) && d.Severity == session.Error && d.Address == wanted.Address
		})
		if told != overdue || !overdue && len(p.Problems) > 0 {
			t.Fatalf("overdue %v: %v", overdue, p.Problems)
		}
	})
}

// A change that ends the agent is carried out like any other: there is nothing left to
// complain about. An audit found a destroy that exited with 1 after it had destroyed.
func TestEndingAnUnobservedSessionIsNoProblem(t *testing.T) {
	wanted := restartable("api", func(s *session.Spec) { s.Agent.Observable = "at_start" })
	for name, plan := range map[string]func(*stage){
		"destroy": func(s *stage) { s.in.Options.Destroy = true },
		"stop":    func(s *stage) { s.in.Wanted[0].Desired = session.Stopped },
		"restart": func(s *stage) { s.in.Options.Restart = []session.Address{"session.api"} },
		"replace": func(s *stage) { s.in.Options.Replace = []session.Address{"session.api"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage().want(wanted).record(wanted).live("api")
			s.in.World.Overdue = map[string]bool{"run-api": true}
			plan(s)
			p := Compute(s.in)
			if !p.Changes[0].ends() || len(p.Problems) > 0 {
				t.Errorf("%s, problems %v", p.Changes[0].Action, p.Problems)
			}
		})
	}
}
