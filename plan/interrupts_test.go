package plan

import (
	"testing"

	"github.com/agentform/agentform/session"
)

// A change that ends an agent names the turn that it interrupts: one in which the agent
// works or asks, of the run that is ended.
func TestInterrupts(t *testing.T) {
	for name, c := range map[string]struct {
		stage *stage
		doing session.Doing
		want  bool
	}{
		"works":        {newStage().record(spec("a")).live("a"), session.Doing{Run: "run-a", Activity: session.Working}, true},
		"asks":         {newStage().record(spec("a")).live("a"), session.Doing{Run: "run-a", Activity: session.Blocked}, true},
		"rests":        {newStage().record(spec("a")).live("a"), session.Doing{Run: "run-a", Activity: session.Idle}, false},
		"another run":  {newStage().record(spec("a")).live("a"), session.Doing{Run: "run-0", Activity: session.Working}, false},
		"is not ended": {newStage().all(spec("a")), session.Doing{Run: "run-a", Activity: session.Working}, false},
		"has ended":    {newStage().record(spec("a")).live("a", exitedWith("self", 1, "")), session.Doing{Run: "run-a", Activity: session.Working}, false},
	} {
		c.stage.in.Doing = map[session.Address]session.Doing{session.Single("a"): c.doing}
		p := Compute(c.stage.in)
		if got := p.Changes[0].Interrupts; (got != nil) != c.want || got != nil && *got != c.doing {
			t.Errorf("%s: %s interrupts %+v, want %v", name, p.Changes[0].Action, got, c.want)
		}
	}
}
