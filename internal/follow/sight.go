package follow

import (
	"time"

	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// Sight is what one look saw of one session.
type Sight struct {
	Address      session.Address
	Priority     int
	State        session.State
	Activity     session.Activity
	Status       session.Status
	Desired      session.Desired // a person's override, if there is one
	Detail       string          // why, for people
	Recorded     bool            // it is on record; else it is only wanted
	Alive        bool            // its agent is known to live
	Ready        bool            // a prompt could be typed now
	Prompt       bool            // its screen shows where a prompt is typed
	Screen       bool            // what it does is known by its screen alone
	OffBranch    bool            // its workspace is on another branch than it is to be
	OffSince     time.Time       // of OffBranch: since when; zero: not known
	UnwellAt     time.Time       // since when it has been unhealthy and a person is needed for that; zero: it is not
	UnderWay     bool            // a start or a stop of it has begun and is not complete
	ActionFailed bool            // the last action on it failed
	Stuck        bool            // its start was approved, and a problem prevents it
	StuckAt      time.Time       // of Stuck: since when; zero: not known
	Run          string          // the id of its run
	Given        time.Time       // when it was last given something: its prompt, or what was sent; zero: never
	Queued       bool            // it was at work when it was last given something
	Moved        time.Time       // last output, to the second; zero: not known
	TurnAt       time.Time       // when its last turn ended, as its hooks or its own file say; zero: they do not
	Ended        time.Time       // when its agent left; zero: it has not, or that is not known
}

// terminal reports whether the session does nothing more by itself.
func (s Sight) terminal() bool { return !s.UnderWay && s.Status.Terminal() }

// course is one session over several looks.
type course struct {
	Sight // the last one
	turn  turn.Course
	off   time.Time // since when it was seen on another branch
	gone  bool      // it was there, and is neither on record nor wanted any more
}

// see adds a look.
func (c *course) see(at time.Time, s Sight) {
	if c.gone {
		c.turn.Restart()
	}
	c.turn.See(turn.Look{
		At: at, Run: s.Run, Is: string(s.State) + " " + string(s.Activity), Alive: s.Alive,
		Working: s.Activity == session.Working || s.Activity == session.Blocked || s.Activity == session.BlockedAPI,
		Resting: s.Activity == session.Idle || s.Activity == session.Done,
		Phrase:  s.Screen && (s.Activity == session.Done || s.Activity == session.Failed), Prompt: s.Prompt,
		Given: s.Given, Queued: s.Queued, Moved: s.Moved, Ended: s.Ended, TurnAt: s.TurnAt,
	})
	if s.OffBranch && !c.OffBranch {
		c.off = at
	}
	c.Sight = s
}

// Follower keeps what is known of sessions from one look to the next. The zero
// value has seen nothing. It is for one goroutine.
type Follower struct {
	courses map[session.Address]*course
	order   []session.Address
}

// See adds a look at all the sessions that are followed. One that was in an
// earlier look and is not in this one is gone.
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
