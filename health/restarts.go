package health

import (
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// What is the meaning of a moment for a session's restarts.
type What int

// The meanings.
const (
	Tried     What = iota // the hub tried to start the session
	Launched              // a run started
	Failed                // an action of the hub failed
	Done                  // an action of the hub succeeded
	Ended                 // a run ended
	Held                  // the hub reported when the next try is due
	Escalated             // repeated restarts were reported to the operator
	Spent                 // the spent budget was reported to the operator
	Cleared               // a person started the session
)

// Moment is an event of a session's history that counts for its restarts.
type Moment struct {
	At     time.Time
	What   What
	Lasted time.Duration // of Ended: how long the run lasted; 0: unknown
	Until  time.Time     // of Held
}

// Count counts the hub's restarts of a session. The zero Count has none.
type Count struct {
	// Tries are the hub's starts, failed ones included, since a person started the
	// session or a run lasted long enough; the oldest first.
	Tries []time.Time
	Ended time.Time // when the last run ended or the last try failed; zero: unknown
	Until time.Time // when the next try is due, as reported; zero: not reported
	// Escalated and Spent mean that the operator was notified. A spent budget stays spent until a
	// user starts the session.
	Escalated, Spent bool

	launched time.Time
	open     bool // a try is in progress
}

// FromHistory counts the restarts in a session's history, the oldest moment first.
// A run that lasted for the policy's reset_after clears what was before it.
func FromHistory(p session.Restart, history []Moment) Count {
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
		if !c.open { // it failed before it started
			c.try(m.At)
		}
		c.Ended, c.open = m.At, false
	case Ended:
		lasted := m.Lasted
		if lasted == 0 && !c.launched.IsZero() {
			lasted = m.At.Sub(c.launched)
		}
		if lasted >= p.Backoff.ResetAfter.D() && !c.Spent {
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

// Current returns the count of a live session. The count starts over once a run has lasted long
// enough.
func (c Count) Current(p session.Restart, now time.Time) Count {
	if !c.launched.IsZero() && now.Sub(c.launched) >= p.Backoff.ResetAfter.D() && !c.Spent {
		return Count{Until: c.Until, launched: c.launched}
	}
	return c
}

// Used returns how many tries are in the policy's window that ends now.
func (c Count) Used(p session.Restart, now time.Time) int {
	from := now.Add(-p.Window.D())
	return len(c.Tries) - len(slices.DeleteFunc(slices.Clone(c.Tries), from.Before))
}
