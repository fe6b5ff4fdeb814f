package follow

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// Sight is one session in one look.
type Sight struct {
	turn.Look    // At is the time of the look
	Address      session.Address
	Priority     int
	Status       session.Status
	Desired      session.Desired // a person's override, if there is one
	Detail       string          // why, for people
	Recorded     bool            // it is on record; else it is only wanted
	Ready        bool            // a prompt could be typed now
	OffBranch    bool            // its workspace is on another branch than declared
	OffSince     time.Time       // of OffBranch; zero: not known
	UnwellAt     time.Time       // since when it is unhealthy and needs a person; zero: it is not
	UnderWay     bool            // a start or a stop of it has begun and is not complete
	ActionFailed bool            // the last action on it failed
	RedSince     time.Time       // since when its work fails verification and its agent is sent nothing more; zero: it does not
	VerifiedAt   time.Time       // when its work was verified by its verify block; zero: it is not
	PullSince    time.Time       // since when its pull request needs a person; zero: it does not
	Stuck        bool            // its start was approved, and a problem prevents it
	StuckAt      time.Time       // of Stuck; zero: not known
}

// course is one session over several looks.
type course struct {
	Sight // the last one
	turn  turn.Course
	off   time.Time // since when it was seen on another branch
	gone  bool      // it is neither on record nor wanted any more
}

func (c *course) see(at time.Time, s Sight) {
	if c.gone {
		c.turn.Restart()
	}
	s.At = at
	c.turn.See(s.Look)
	if s.OffBranch && !c.OffBranch {
		c.off = at
	}
	c.Sight = s
}

// Follower is what is known of sessions from all looks so far. The zero value is ready
// for one goroutine.
type Follower struct {
	courses map[session.Address]*course
	order   []session.Address
}

// See adds a look at all sessions that are followed. A session of an earlier look that
// is not in this one is gone.
func (f *Follower) See(at time.Time, sights []Sight) {
	if f.courses == nil {
		f.courses = map[session.Address]*course{}
	}
	seen := make(map[session.Address]bool, len(sights))
	for _, s := range sights {
		seen[s.Address] = true
		c := f.courses[s.Address]
		if c == nil {
			c = &course{}
			f.courses[s.Address] = c
			f.order = append(f.order, s.Address)
		}
		c.see(at, s)
	}
	for a, c := range f.courses {
		c.gone = !seen[a]
	}
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

// Verdict returns what the looks so far say of a session and goals, of which one is enough. A
// session that was in no look is Waiting.
func (f *Follower) Verdict(a session.Address, goals ...Goal) Verdict {
	c := f.courses[a]
	switch {
	case c == nil:
		return Waiting
	case c.gone:
		return Over
	case slices.ContainsFunc(goals, c.reached):
		return Reached
	case c.over(), c.red() && !slices.ContainsFunc(goals, func(g Goal) bool { return g != Verified }):
		return Over
	}
	return Waiting
}

// Ended reports whether a session does nothing more by itself.
func (f *Follower) Ended(a session.Address) bool {
	c := f.courses[a]
	return c != nil && (c.gone || c.over())
}

// over requires of a live agent that says it is done or has failed that it has settled.
func (c *course) over() bool {
	return !c.UnderWay && c.Status.Terminal() && (!c.Alive || c.turn.Settled())
}

// red reports whether the work of the last input fails verification, and its agent is sent nothing
// more.
func (c *course) red() bool { return c.turn.Ended() && !c.RedSince.IsZero() }

// verified reports whether the work of the last input is verified, of an agent that lives also
// whatever it did since then.
func (c *course) verified() bool {
	return !c.VerifiedAt.IsZero() && !c.Given.After(c.VerifiedAt) &&
		(!c.Alive || c.turn.Ended() && !c.turn.EndedAt().After(c.VerifiedAt))
}

func (c *course) reached(g Goal) bool {
	if g == Verified {
		return c.verified()
	}
	if c.Status == session.StatusDone && !c.Alive { // a one-shot agent that exited with 0
		return g != Blocked
	}
	switch g {
	case Turn:
		return c.turn.Ended()
	case Done:
		return c.Activity == session.Done && c.turn.Ended()
	case Blocked:
		return c.blocked()
	}
	return c.Alive && c.Ready
}

func (c *course) blocked() bool {
	return c.Alive && c.Activity == session.Blocked && c.turn.Held() >= turn.Calm
}

// Visible returns nil if it can be observed that such a session reaches the goal, or what
// its block lacks.
func Visible(s session.Spec, g Goal) error {
	a := s.Agent
	switch {
	case g == Verified && !s.Verify.Declared():
		return errors.New(`it has no verify block, so nothing verifies its work`)
	case a.Base != "" || a.OneShot:
	case g == Turn && a.Ready == "":
		return fmt.Errorf(`cannot tell when a turn of agent %q ends: set in its block what its screen shows then, ready = "…"`, a.Name)
	case g == Blocked && len(a.Patterns.Blocked) == 0:
		return fmt.Errorf(`cannot tell when agent %q waits for an answer: set in its block what its screen shows then, patterns { blocked = ["…"] }`, a.Name)
	}
	return nil
}
