package follow

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// Sight is one session as the looks so far show it.
type Sight struct {
	Address      session.Address
	Priority     int
	State        session.State
	Activity     session.Activity
	Status       session.Status
	Alive        bool
	Turn         turn.Course     // of its agent
	Given        time.Time       // when its agent was last given something; zero: never
	Since        time.Time       // since when it is as it is, as one look says; zero: it does not
	Desired      session.Desired // a person's override, if there is one
	Recorded     bool            // it is on record; else it is only wanted
	Ready        bool            // a prompt could be typed now
	Interrupted  bool            // the turn of its last input was cut off, and it has not worked since
	OffBranch    bool            // its workspace is on another branch than declared
	OffSince     time.Time       // of OffBranch
	UnwellAt     time.Time       // since when it is unhealthy and needs a person; zero: it is not
	UnderWay     bool            // a start or a stop of it has begun and is not complete
	ActionFailed bool            // the last action on it failed
	RedSince     time.Time       // since when its work fails verification and its agent is sent nothing more; zero: it does not
	VerifiedAt   time.Time       // when its work was verified by its verify block; zero: it is not
	LandedAt     time.Time       // when its work came to its base; zero: it has not
	PullSince    time.Time       // since when its pull request needs a person; zero: it does not
	Stuck        bool            // its start was approved, and a problem prevents it
	StuckAt      time.Time       // of Stuck; zero: not known
}

// Goal is what a session is followed for.
type Goal string

// The goals.
const (
	Turn     Goal = "turn"     // the turn of the last input has ended, or the work is done
	Done     Goal = "done"     // the work is done, by exit or screen
	Verified Goal = "verified" // the work of the last input is verified
	Blocked  Goal = "blocked"  // the agent waits for a person's answer
	Ready    Goal = "ready"    // a prompt can be typed
)

// Goals returns all goals, the usual one first.
func Goals() []Goal { return []Goal{Turn, Done, Verified, Blocked, Ready} }

// Verdict is what the looks so far say of a goal.
type Verdict string

// The verdicts. Over: the session does nothing more by itself, and the goal is not
// reached.
const (
	Waiting Verdict = "waiting"
	Reached Verdict = "reached"
	Over    Verdict = "over"
)

// Verdict returns what the looks so far say of goals, of which one is enough.
func (s Sight) Verdict(goals ...Goal) Verdict {
	switch {
	case slices.ContainsFunc(goals, s.reached):
		return Reached
	case s.Over(), s.red() && !slices.ContainsFunc(goals, func(g Goal) bool { return g != Verified }):
		return Over
	}
	return Waiting
}

// Over reports whether the session does nothing more by itself. A live agent that says it is done or
// has failed must have settled, and so must one whose turn was cut off.
func (s Sight) Over() bool {
	return !s.UnderWay && (s.Status.Terminal() && (!s.Alive || s.Turn.Settled()) || s.cutOff(false))
}

// red reports whether the work of the last input fails verification, and its agent is sent nothing
// more.
func (s Sight) red() bool { return s.Turn.Ended() && !s.RedSince.IsZero() }

// verified reports whether the work of the last input is verified, of an agent that lives also
// whatever it did since then.
func (s Sight) verified() bool {
	return !s.VerifiedAt.IsZero() && !s.Given.After(s.VerifiedAt) &&
		(!s.Alive || s.Turn.Ended() && !s.Turn.EndedAt().After(s.VerifiedAt))
}

func (s Sight) reached(g Goal) bool {
	if g == Verified {
		return s.verified()
	}
	if s.Status == session.StatusDone && !s.Alive { // a one-shot agent that exited with 0
		return g != Blocked
	}
	switch g {
	case Turn:
		return s.Turn.Ended() && !s.Interrupted
	case Done:
		return s.Activity == session.Done && s.Turn.Ended()
	case Blocked:
		return s.blocked()
	}
	return s.Alive && s.Ready
}

func (s Sight) blocked() bool {
	return s.Alive && s.Activity == session.Blocked && s.Turn.Held() >= turn.Calm
}

// Visible returns nil if it can be observed that such a session reaches the goal, or what
// its block lacks.
func Visible(spec session.Spec, g Goal) error {
	a := spec.Agent
	switch {
	case g == Verified && !spec.Verify.Declared():
		return errors.New(`it has no verify block, so nothing verifies its work`)
	case a.Base != "" || a.OneShot:
	case g == Turn && a.Ready == "":
		return fmt.Errorf(`cannot tell when a turn of agent %q ends: set in its block what its screen shows then, ready = "…"`, a.Name)
	case g == Blocked && len(a.Patterns.Blocked) == 0:
		return fmt.Errorf(`cannot tell when agent %q waits for an answer: set in its block what its screen shows then, patterns { blocked = ["…"] }`, a.Name)
	}
	return nil
}
