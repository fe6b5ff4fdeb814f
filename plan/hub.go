package plan

import (
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/session"
)

// Hub is what the hub knows when it plans. It repairs what a person applied,
// within bounds that do not apply to a person.
type Hub struct {
	// Restarts counts the hub's starts of each session.
	Restarts map[session.Address]health.Count
	// Sick are sessions whose agent lives and is to be restarted.
	Sick map[session.Address]Sick
	// Lacking is why a secret of a session is unavailable.
	Lacking map[session.Address]string
	// Limits is when the provider's limit ends that an exited agent reported.
	Limits map[session.Address]time.Time
	// AtOnce limits concurrent starts; 0: no limit.
	AtOnce int
}

// Sick is a run that is to be ended.
type Sick struct {
	Run    string
	Detail string // for people
}

const (
	// startSpacing is how long a started session counts as starting: an agent's
	// start takes most of a processor for seconds.
	startSpacing = 2 * time.Second
	// secretRetry is when an unavailable secret is requested again.
	secretRetry = time.Minute
)

// hubBounds holds back what the hub may not do, or not yet.
type hubBounds struct {
	*Hub
	join *join
}

func boundsOf(j *join) hubBounds { return hubBounds{j.in.Hub, j} }

// apply returns the change that is left within the bounds. The hub never creates,
// changes or removes what a person wanted.
func (b hubBounds) apply(c Change) Change {
	if busy := atWork(c.Before, b.join.in.World); busy != "" && (c.Live == nil || c.Live.Liveness != session.Alive) {
		return held(c, ReasonUnderWay, busy)
	}
	if c.Before.Intent == session.Removing {
		c = held(c, ReasonInterrupted, "its removal was interrupted")
		c.Remedy.Code = session.RemedyApply
		return c
	}
	switch c.Action {
	case None:
		return b.restartSick(c)
	case Restart, Create:
		return b.start(c)
	case Update, Pause, Resume, Stop:
		return b.retry(c)
	case Hold:
		return c
	}
	return act(c, None, c.Reason, c.Detail)
}

// restartSick restarts a session in sync whose agent is unhealthy.
func (b hubBounds) restartSick(c Change) Change {
	x, sick := b.Sick[c.Address]
	if !sick || c.Live == nil || c.Live.Liveness != session.Alive || c.Live.Mark.Run != x.Run || c.Before.Run.ID != x.Run {
		return c
	}
	return b.judge(act(c, Restart, ReasonUnhealthy, x.Detail), c.Before.Spec.Restart, health.Case{})
}

// start decides whether a session without a running agent is started now.
func (b hubBounds) start(c Change) Change {
	if c.Before.Intent == session.Queued { // someone approved this start
		if h, lacks := b.lacking(c); lacks {
			return h
		}
		return b.retry(c)
	}
	x := health.Case{Free: free(c.Reason)}
	if exit := b.join.exit(c); exit != nil {
		x.Ended, x.Left = exit.At, exit.Cause == "self" && !failure(*exit)
	}
	if until, limited := b.Limits[c.Address]; limited {
		if b.join.in.Now.Before(until) {
			c = held(c, ReasonBlockedAPI, "its agent left at a limit of the model's provider")
			c.Until = until
			return c
		}
		x.Free, c.Reason = true, ReasonLimitOver
	}
	return b.judge(c, c.Before.Spec.Restart, x)
}

// lacking holds a start whose secret is unavailable.
func (b hubBounds) lacking(c Change) (_ Change, lacks bool) {
	missing, lacks := b.Lacking[c.Address]
	if !lacks {
		return c, false
	}
	c = held(c, ReasonSecret, missing)
	c.Until = b.join.in.Now.Add(secretRetry)
	return c, true
}

// judge holds a start that the restart budget does not allow now, or whose secret
// is unavailable.
func (b hubBounds) judge(c Change, p session.Restart, x health.Case) Change {
	x.Key = c.Before.ID + c.Before.Run.ID
	v := b.Restarts[c.Address].Judge(p, x, b.join.in.Now)
	c.Restarts = &v
	if v.Reason == health.None {
		c, _ = b.lacking(c)
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

// retry decides for repairs other than restarts, and for approved starts. They cost
// no budget, but failed ones are retried no more often than restarts.
func (b hubBounds) retry(c Change) Change {
	if len(b.Restarts[c.Address].Tries) == 0 {
		return c
	}
	p := c.Before.Spec.Restart
	p.Policy = "always" // the policy is about restarts
	return b.judge(c, p, health.Case{})
}

// acquireSlot takes one of the concurrent starts, if one is left.
func (h *Hub) acquireSlot(taken *int) bool {
	if h.AtOnce > 0 && *taken >= h.AtOnce {
		return false
	}
	*taken++
	return true
}

// startedRecently reports whether the session's start counts as under way.
func startedRecently(c Change, now time.Time) bool {
	if c.Before == nil {
		return false
	}
	age := now.Sub(c.Before.Run.StartedAt)
	return age >= 0 && age < startSpacing
}
