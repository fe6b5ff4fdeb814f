package health

import (
	"time"

	"github.com/agentform/agentform/session"
)

// What says what a moment of a session's history means for its restarts.
type What int

// The meanings.
const (
	Tried     What = iota // the hub began to start it
	Launched              // a run of it was started, by whomever
	Failed                // what the hub did to it failed
	Done                  // what the hub did to it went well
	Ended                 // a run of it ended
	Held                  // the hub said that it waits with the next start
	Escalated             // the operator was told that it starts again and again
	Spent                 // the operator was told that it is not started any more
	Cleared               // somebody other than the hub started it
)

// Moment is one thing in a session's history that counts for its restarts.
type Moment struct {
	At    time.Time
	What  What
	Stood time.Duration // of Ended: how long the run stood; 0: not known
	Until time.Time     // of Held
}

// Count is how often the hub has started a session again. The zero Count is that
// of a session which it never had to start.
type Count struct {
	// Tries are the hub's starts, failed ones included, since somebody else
	// started the session or it stood long enough; the oldest first.
	Tries []time.Time
	Ended time.Time // when the last run ended or the last try failed; zero: not known
	Until time.Time // when the next try is due, as it was told; zero: it was not told
	// Escalated and Spent say that the operator was told so already. A budget that
	// was spent stays so until somebody other than the hub starts the session.
	Escalated, Spent bool

	launched time.Time
	open     bool // a try is under way
}

// Fold counts what a session's history tells, the oldest moment first. Of the
// policy it needs how long a run has to stand to wipe out what was before it.
func Fold(p session.Restart, history []Moment) Count {
	var c Count
	for _, m := range history {
		c.add(p, m)
	}
	return c
}

func (c *Count) add(p session.Restart, m Moment) {
	switch m.What {
	case Tried:
		c.try(m.At)
	case Launched:
		c.launched = m.At
	case Done:
		c.open = false
	case Failed:
		if !c.open { // it failed before it was begun
			c.try(m.At)
		}
		c.Ended, c.open = m.At, false
	case Ended:
		stood := m.Stood
		if stood == 0 && !c.launched.IsZero() {
			stood = m.At.Sub(c.launched)
		}
		if stood >= p.Backoff.ResetAfter.D() && !c.Spent {
			*c = Count{}
		}
		c.Ended, c.launched = m.At, time.Time{}
	case Held:
		c.Until = m.Until
	case Escalated:
		c.Escalated = true
	case Spent:
		c.Spent = true
	case Cleared:
		*c = Count{}
	}
}

func (c *Count) try(at time.Time) {
	c.Tries = append(c.Tries, at)
	c.Until, c.Ended, c.open = time.Time{}, time.Time{}, true
}

// Stands is the count of a session that lives: one whose run has stood long enough
// begins anew.
func (c Count) Stands(p session.Restart, now time.Time) Count {
	if !c.launched.IsZero() && now.Sub(c.launched) >= p.Backoff.ResetAfter.D() && !c.Spent {
		return Count{Until: c.Until, launched: c.launched}
	}
	return c
}

// Used is how many of the tries fall into the policy's window that ends now.
func (c Count) Used(p session.Restart, now time.Time) int {
	from, used := now.Add(-p.Window.D()), 0
	for _, at := range c.Tries {
		if at.After(from) {
			used++
		}
	}
	return used
}
