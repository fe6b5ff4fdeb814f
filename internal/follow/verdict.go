package follow

import (
	"fmt"

	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// Goal is what a session is followed for.
type Goal string

// The goals.
const (
	// Turn: the agent has done with what it was last given and waits for more, or
	// its work is done.
	Turn Goal = "turn"
	// Done: its work is done, as its exit or its screen says.
	Done Goal = "done"
	// Blocked: it waits for a person's answer.
	Blocked Goal = "blocked"
	// Ready: a prompt can be typed.
	Ready Goal = "ready"
)

// Goals are all goals, the usual one first.
func Goals() []Goal { return []Goal{Turn, Done, Blocked, Ready} }

// Verdict is what the looks so far say of a goal.
type Verdict string

// The verdicts. Over: the session does nothing more by itself, and the goal is
// not reached.
const (
	Waiting Verdict = "waiting"
	Reached Verdict = "reached"
	Over    Verdict = "over"
)

// Verdict is what the looks so far say of a session and a goal. A session that
// was in no look is Waiting.
func (f *Follower) Verdict(a session.Address, g Goal) Verdict {
	c := f.courses[a]
	switch {
	case c == nil:
		return Waiting
	case c.gone:
		return Over
	case c.reached(g):
		return Reached
	case c.over():
		return Over
	}
	return Waiting
}

// Ended reports whether a session does nothing more by itself. One whose agent
// lives, and says that it is done or has failed, has to have come to rest.
func (f *Follower) Ended(a session.Address) bool {
	c := f.courses[a]
	return c != nil && (c.gone || c.over())
}

func (c *course) over() bool { return c.terminal() && (!c.Alive || c.turn.Settled()) }

func (c *course) reached(g Goal) bool {
	if c.Status == session.StatusDone && !c.Alive { // a one-shot agent that left by itself with 0
		return g != Blocked
	}
	switch g {
	case Turn:
		return c.turn.Ended()
	case Done:
		return c.Activity == session.Done && c.turn.Ended()
	case Blocked:
		return c.Alive && c.Activity == session.Blocked && c.turn.Held() >= turn.Calm
	case Ready:
		return c.Alive && c.Ready
	}
	return false
}

// Visible is nil if it can be seen of such an agent when it reaches the goal,
// and else says what its block lacks.
func Visible(a session.AgentSpec, g Goal) error {
	if a.Base != "" || a.OneShot {
		return nil
	}
	switch {
	case g == Turn && a.Ready == "":
		return fmt.Errorf(`nothing shows when a turn of agent %q ends: say in its block what its screen shows then, ready = "…"`, a.Name)
	case g == Blocked && len(a.Patterns.Blocked) == 0:
		return fmt.Errorf(`nothing shows when agent %q waits for an answer: say in its block what its screen shows then, patterns { blocked = ["…"] }`, a.Name)
	}
	return nil
}
