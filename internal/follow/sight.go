package follow

import (
	"time"

	"github.com/agentform/agentform/session"
)

// Sight is what one look saw of one session.
type Sight struct {
	Address   session.Address
	Priority  int
	State     session.State
	Activity  session.Activity
	Status    session.Status
	Desired   session.Desired // a person's override, if there is one
	Detail    string          // why, for people
	Recorded  bool            // it is on record; else it is only wanted
	Alive     bool            // its agent is known to live
	Ready     bool            // a prompt could be typed now
	OffBranch bool            // its workspace is on another branch than it is to be
	OffSince  time.Time       // of OffBranch: since when; zero: not known
	UnwellAt  time.Time       // since when it has been unhealthy and a person is needed for that; zero: it is not
	UnderWay  bool            // a start or a stop of it has begun and is not complete
	Trouble   bool            // the last action on it failed
	Run       string          // the id of its run
	Given     time.Time       // when it was last given something: its prompt, or what was sent; zero: never
	Moved     time.Time       // last output, to the second; zero: not known
	TurnAt    time.Time       // when its last turn ended, as its hooks or its own file say; zero: they do not
	Ended     time.Time       // when its agent left; zero: it has not, or that is not known
}

// terminal reports whether the session does nothing more by itself.
func (s Sight) terminal() bool { return !s.UnderWay && s.Status.Terminal() }

// How long a reading must have held.
const (
	// calm is for what cannot be mistaken: an agent that was seen at work and
	// rests. A title or a screen that is caught between two states does not last so
	// long, nor does the rest between two messages of which the second was queued.
	calm = 500 * time.Millisecond
	// settle is for an agent that rests and was not seen at work since it was given
	// something: it has not begun yet, or its turn was too short to be seen. The
	// longest rest seen between a composer that shows and the prompt that was given
	// on the command line being taken up was 1.5 s (Gemini CLI 0.61.0).
	settle = 5 * time.Second
	// tick is the resolution of Sight.Moved: tmux counts seconds.
	tick = time.Second
)

// course is one session over several looks.
type course struct {
	Sight           // the last one
	since time.Time // since when it has been so, as far as known
	off   time.Time // since when it was seen on another branch
	at    time.Time // of the last look
	work  bool      // seen at work since it was given something
	gone  bool      // it was there, and is neither on record nor wanted any more
}

// see adds a look.
func (c *course) see(at time.Time, s Sight) {
	first := c.at.IsZero()
	same := !first && !c.gone && s.State == c.State && s.Activity == c.Activity && s.Run == c.Run
	switch {
	case same:
	case !s.Ended.IsZero():
		c.since = s.Ended
	case first && !s.Moved.IsZero() && s.Moved.Add(tick).Before(at):
		c.since = s.Moved.Add(tick) // nothing has changed on its screen since
	default:
		c.since = at
	}
	if first || s.Run != c.Run || s.Given.After(c.Given) {
		c.work = false
	}
	if at.After(s.Given) && (s.Activity == session.Working || s.Activity == session.Blocked || s.Activity == session.BlockedAPI) {
		c.work = true
	}
	if s.OffBranch && (first || !c.OffBranch) {
		c.off = at
	}
	c.Sight, c.at = s, at
}

// held is for how long the session has been as it is, counted from when it was
// last given something: what it showed before says nothing about that.
func (c *course) held() time.Duration {
	from := c.since
	if c.Given.After(from) {
		from = c.Given
	}
	return c.at.Sub(from)
}

// settled reports whether what the session shows now is its answer to what it
// was last given.
func (c *course) settled() bool {
	if c.work {
		return c.held() >= calm
	}
	return c.held() >= settle && (c.Moved.IsZero() || c.at.Sub(c.Moved) >= settle)
}

// turnEnded reports whether the live agent has done with what it was last given.
// One that was given nothing has had no turn unless it was seen at work.
func (c *course) turnEnded() bool {
	rests := c.Activity == session.Idle || c.Activity == session.Done
	switch {
	case !c.Alive || !rests:
		return false
	case c.TurnAt.After(c.Given):
		return true // it has told so itself
	}
	return (c.work || !c.Given.IsZero()) && c.settled()
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
