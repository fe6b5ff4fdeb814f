package plan

import (
	"errors"
	"testing"

	"github.com/agentform/agentform/session"
)

// Where tmux does not answer, someone who says so ends a session by its agent's process.
// Nothing else is done with it, and the hub does nothing.
func TestTmuxDoesNotAnswer(t *testing.T) {
	targeted := func(s *stage, d session.Desired) {
		s.in.ByHand, s.in.Options.Targets = true, []session.Address{"session.a"}
		s.in.Records[0].Override = &session.Override{Desired: d, By: "ann"}
	}
	for name, tt := range map[string]struct {
		runs bool
		how  func(*stage)
		want Action
	}{
		"apply":                 {true, func(*stage) {}, None},
		"destroy":               {true, func(s *stage) { s.in.Options.Destroy = true }, Delete},
		"destroy, nothing runs": {false, func(s *stage) { s.in.Options.Destroy = true }, None},
		"not wanted any more":   {true, func(s *stage) { s.in.Wanted = nil }, Delete},
		"stop":                  {true, func(s *stage) { targeted(s, session.Stopped) }, Stop},
		"stop, nothing runs":    {false, func(s *stage) { targeted(s, session.Stopped) }, None},
		"pause":                 {true, func(s *stage) { targeted(s, session.Paused) }, None},
		"restart":               {true, func(s *stage) { s.in.Options.Restart = []session.Address{"session.a"} }, None},
		"replace":               {true, func(s *stage) { s.in.Options.Replace = []session.Address{"session.a"} }, None},
		"the hub": {true, func(s *stage) {
			targeted(s, session.Stopped)
			s.byHub()
		}, None},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage().want(spec("a")).record(spec("a"))
			s.in.World.Runtimes["tmux"] = errors.New("no answer within 20s")
			s.in.World.Runs["run-a"] = session.RunFacts{Claimed: true, Alive: tt.runs}
			tt.how(s)
			if c := Compute(s.in).Changes[0]; c.Action != tt.want || c.State != session.StateUnknown {
				t.Errorf("%s, %s: %s", c.State, c.Action, c.Detail)
			}
		})
	}
}
