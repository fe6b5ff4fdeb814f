package plan

import (
	"fmt"
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/session"
)

// Hub is the hub's knowledge for a plan.
type Hub struct {
	// Restarts counts the hub's starts of each session.
	Restarts map[session.Address]health.Count
	// Sick are sessions with a live agent that is to be restarted.
	Sick map[session.Address]Sick
	// Lacking is why a secret of a session is unavailable.
	Lacking map[session.Address]string
	// Limits are the provider's limits that agents are at, or exited at.
	Limits map[session.Address]Limit
	// Resting are sessions whose agent rests at a limit and nobody works with it, or has exited at it.
	Resting map[session.Address]bool
	// Credential returns what a session with an id would use; nil: that is not known.
	Credential func(s session.Spec, id string) session.Credential
	// Access is what sessions show of how their providers take their credentials.
	Access map[session.Address]Access
	// Waiting are exited agents that are started after others have resumed; see ResumeTurns.
	Waiting map[session.Address]session.Address
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

// bound returns the part of a change that a hub may do: it never creates, changes or removes what a
// user declared.
func (j *join) bound(c Change) Change {
	if busy := atWork(c.Before, j.in.World); busy != "" && (c.Live == nil || c.Live.Liveness != session.Alive) {
		return held(c, ReasonUnderWay, busy)
	}
	if c.Before.Intent == session.Removing {
		c = held(c, ReasonInterrupted, "its removal was interrupted")
		c.Remedy.Code = session.RemedyApply
		return c
	}
	switch c.Action {
	case None:
		if x, falls := fallBack(c, j); falls {
			return x
		}
		return j.restartSick(c)
	case Restart, Create:
		return j.start(c)
	case Update, Pause, Resume, Stop:
		return j.retry(c)
	case Hold:
		return c
	}
	return act(c, None, c.Reason, c.Detail)
}

// restartSick restarts a session in sync whose agent is unhealthy.
func (j *join) restartSick(c Change) Change {
	x, sick := j.in.Hub.Sick[c.Address]
	if !sick || c.Live == nil || c.Live.Liveness != session.Alive || c.Live.Mark.Run != x.Run || c.Before.Run.ID != x.Run {
		return c
	}
	return j.judge(act(c, Restart, ReasonUnhealthy, x.Detail), c.Before.Spec.Restart, health.Case{})
}

// start decides whether a session without a running agent is started now.
func (j *join) start(c Change) Change {
	if x, refused := j.refused[c.Before.Run.Credential.ID]; refused {
		return held(c, ReasonRefused, x.String())
	}
	if c.Before.Intent == session.Queued { // someone approved this start
		if _, lacks := j.in.Hub.Lacking[c.Address]; lacks {
			return j.lacking(c)
		}
		return j.retry(c)
	}
	x := health.Case{Free: free(c.Reason)}
	if exit := j.exit(c); exit != nil {
		x.Ended, x.Left = exit.At, exit.Clean()
	}
	if limit, limited := j.in.Hub.Limits[c.Address]; limited {
		if x, falls := fallBack(c, j); falls {
			return x
		}
		if j.in.Now.Before(limit.Until) {
			c = held(c, ReasonBlockedAPI, "its agent exited at a limit of the model's provider")
			c.Until = limit.Until
			return c
		}
		if before, waits := j.in.Hub.Waiting[c.Address]; waits {
			return held(c, ReasonBlockedAPI, waitsFor(before))
		}
		x.Free, c.Reason = true, ReasonLimitOver
	}
	return j.judge(c, c.Before.Spec.Restart, x)
}

// Try returns which of how many restarts by the hub a change is: 2 of 3. It is empty if the change does
// not count as one.
func (c Change) Try() string {
	if c.Restarts == nil || c.Action != Restart || free(c.Reason) {
		return ""
	}
	return fmt.Sprintf("%d of %d", c.Restarts.Try, c.Restarts.Of)
}

// lacking holds a start whose secret is unavailable.
func (j *join) lacking(c Change) Change {
	if missing, lacks := j.in.Hub.Lacking[c.Address]; lacks {
		c = held(c, ReasonSecret, missing)
		c.Until = j.in.Now.Add(secretRetry)
	}
	return c
}

// judge holds a start that the restart budget does not allow now, or whose secret
// is unavailable.
func (j *join) judge(c Change, p session.Restart, x health.Case) Change {
	x.Key = c.Before.ID + c.Before.Run.ID
	v := j.in.Hub.Restarts[c.Address].Judge(p, x, j.in.Now)
	c.Restarts = &v
	if v.Reason == health.None {
		return j.lacking(c)
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
func (j *join) retry(c Change) Change {
	if len(j.in.Hub.Restarts[c.Address].Tries) == 0 {
		return c
	}
	p := c.Before.Spec.Restart
	p.Policy = "always" // the policy is about restarts
	return j.judge(c, p, health.Case{})
}
