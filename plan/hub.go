package plan

import (
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/session"
)

// Hub is what the supervisor knows when it plans: it repairs what a person
// applied, within bounds that bind no person.
type Hub struct {
	// Restarts is how often it has started sessions whose agent is gone, or that
	// are not well; one that is not in it was never started by it.
	Restarts map[session.Address]health.Count
	// Sick are sessions whose agent lives and is to be ended and started again.
	Sick map[session.Address]Sick
	// Lacking is why a secret of a session cannot be had, by session.
	Lacking map[session.Address]string
	// Limits is until when sessions whose agent is gone are kept from the model by
	// its provider, as their agent said last.
	Limits map[session.Address]time.Time
	// AtOnce is how many sessions are started at a time; 0: no limit.
	AtOnce int
}

// Sick says of one run that it is to be ended.
type Sick struct {
	Run    string
	Detail string // for people
}

const (
	// breath is for how long a session that was started counts as one of those
	// that are started at a time: an agent's own start takes most of a processor
	// for seconds.
	breath = 2 * time.Second
	// askAgain is when a secret that cannot be had is asked for again.
	askAgain = time.Minute
)

// bounded keeps what the hub would do within its bounds: it never makes, changes
// or takes away what a person wanted, and starts again only what the policy lets
// it.
func (s *scene) bounded(c Change) Change {
	if busy := atWork(c.Before, s.in.World); busy != "" && (c.Live == nil || c.Live.Vital != session.Alive) {
		return held(c, ReasonUnderWay, busy)
	}
	switch {
	case c.Before.Intent == session.Removing:
		return held(c, ReasonInterrupted, "its removal was interrupted: agentform apply goes on with it")
	case c.Action == None:
		return s.sick(c)
	case c.Action == Restart || c.Action == Create:
		return s.startable(c)
	case c.Action == Hold:
		return c
	case c.Action == Update || c.Action == Pause || c.Action == Resume || c.Action == Stop:
		return s.again(c)
	}
	return act(c, None, c.Reason, c.Detail)
}

// sick decides for a session that is as it is wanted.
func (s *scene) sick(c Change) Change {
	x, sick := s.in.Hub.Sick[c.Address]
	if !sick || c.Live == nil || c.Live.Vital != session.Alive || c.Live.Mark.Run != x.Run || c.Before.Run.ID != x.Run {
		return c
	}
	return s.judged(act(c, Restart, ReasonUnhealthy, x.Detail), c.Before.Spec.Restart, health.Case{})
}

// startable decides for a session whose agent is gone.
func (s *scene) startable(c Change) Change {
	if c.Before.Intent == session.Queued { // someone approved this start
		if missing, lacks := s.in.Hub.Lacking[c.Address]; lacks {
			c = held(c, ReasonSecret, missing)
			c.Until = s.in.Now.Add(askAgain)
			return c
		}
		return s.again(c)
	}
	x := health.Case{Free: free(c.Reason)}
	if exit := s.exit(c); exit != nil {
		x.Ended, x.Left = exit.At, exit.Cause == "self" && !failure(*exit)
	}
	if until, limited := s.in.Hub.Limits[c.Address]; limited {
		if s.in.Now.Before(until) {
			c = held(c, ReasonBlockedAPI, "its agent left at a limit of the model's provider")
			c.Until = until
			return c
		}
		x.Free, c.Reason = true, ReasonLimitOver
	}
	return s.judged(c, c.Before.Spec.Restart, x)
}

// exit is how the session's last run ended, as its guest wrote down.
func (s *scene) exit(c Change) *session.Exit {
	if c.Live != nil && c.Live.Mark.Run == c.Before.Run.ID {
		return c.Live.Exit
	}
	return s.in.World.Runs[c.Before.Run.ID].Exit
}

// judged holds a start that the session's restart budget does not allow now, or
// that lacks a secret.
func (s *scene) judged(c Change, p session.Restart, x health.Case) Change {
	x.Key = c.Before.ID + c.Before.Run.ID
	v := s.in.Hub.Restarts[c.Address].Judge(p, x, s.in.Now)
	c.Restarts = &v
	if missing, lacks := s.in.Hub.Lacking[c.Address]; lacks && v.Reason == health.None {
		c = held(c, ReasonSecret, missing)
		c.Until = s.in.Now.Add(askAgain)
		return c
	}
	if v.Reason == health.None {
		return c
	}
	cause := c.Detail
	c = held(c, Reason(v.Reason), v.String())
	if v.Reason != health.BackingOff && cause != "" {
		c.Detail = cause + "; " + c.Detail
	}
	if v.Reason == health.BudgetGone {
		c.State = session.StateError
	}
	c.Until = v.Until
	return c
}

// again decides for what else is to be put right with a session, and for a start that
// someone approved. It is no try, but where it fails it is tried again no more often
// than one.
func (s *scene) again(c Change) Change {
	count := s.in.Hub.Restarts[c.Address]
	if len(count.Tries) == 0 {
		return c
	}
	p := c.Before.Spec.Restart
	p.Policy = "always" // which is about starts
	return s.judged(c, p, health.Case{})
}

// room takes one of the places of those that are started at a time.
func (h *Hub) room(taken *int) bool {
	if h.AtOnce > 0 && *taken >= h.AtOnce {
		return false
	}
	*taken++
	return true
}

// young reports whether the hub's start of a session is so recent that it counts as
// under way.
func (s *scene) young(c Change) bool {
	if c.Before == nil {
		return false
	}
	age := s.in.Now.Sub(c.Before.Run.StartedAt)
	return age >= 0 && age < breath
}
