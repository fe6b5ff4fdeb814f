package follow

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// Reason is why a session needs somebody.
type Reason string

// The reasons.
const (
	NeedsAnswer  Reason = "blocked"     // its agent asks something
	NeedsQuota   Reason = "blocked_api" // its agent has met a rate or usage limit
	NeedsWork    Reason = "turn_ended"  // its agent has done with what it was given
	NeedsHelp    Reason = "failed"      // its agent says that it failed, or left with a failure
	NeedsRestart Reason = "exited"      // its agent left, and a shell has the terminal
	NeedsAgent   Reason = "stale"       // its place is left, its agent is gone
	NeedsTime    Reason = "timeout"     // its run was stopped for its time
	NeedsPlace   Reason = "error"       // its place is gone, or the last action on it failed
	NeedsBranch  Reason = "branch_mismatch"
	NeedsStart   Reason = "stuck"     // its start was approved, and a problem prevents it
	NeedsCare    Reason = "unhealthy" // the hub found that its agent does not work as it should, and restarts nothing
)

// rank orders reasons: an agent that asks waits for an answer now, then comes what is
// broken, then what ends by itself, and last the work that is done.
func (r Reason) rank() int {
	switch r {
	case NeedsAnswer:
		return 0
	case NeedsQuota:
		return 2
	case NeedsWork:
		return 3
	}
	return 1
}

// Need is a session that needs somebody.
type Need struct {
	Sight
	Reason Reason
	Since  time.Time // as far as known
}

// Needs are the sessions that need somebody: those that are blocked first, then those
// where something is wrong, those at a limit, and those whose turn has ended; of these
// by priority, the higher first, then those that have waited longer, then in the order
// of addresses. A session that is wanted stopped, was never started or is done needs
// nobody.
func (f *Follower) Needs() []Need {
	var found []Need
	for _, a := range f.order {
		c := f.courses[a]
		if why := c.need(); why != "" {
			found = append(found, Need{c.Sight, why, c.needSince(why)})
		}
	}
	slices.SortStableFunc(found, func(x, y Need) int {
		return cmp.Or(cmp.Compare(x.Reason.rank(), y.Reason.rank()), cmp.Compare(y.Priority, x.Priority), x.Since.Compare(y.Since), cmp.Compare(x.Address, y.Address))
	})
	return found
}

// needSince returns since when the session has needed somebody for a reason, as far as
// known.
func (c *course) needSince(why Reason) time.Time {
	switch {
	case why == NeedsBranch && !c.OffSince.IsZero():
		return c.OffSince
	case why == NeedsBranch:
		return c.off
	case why == NeedsStart && !c.StuckAt.IsZero():
		return c.StuckAt
	case why == NeedsCare:
		return c.UnwellAt
	}
	return c.turn.Since()
}

// need is why the session needs somebody; empty: it does not.
func (c *course) need() Reason {
	switch {
	case c.gone || !c.Recorded || c.UnderWay || c.Desired == session.Stopped:
		return ""
	case c.State == session.StateError || c.ActionFailed && !c.Alive:
		return NeedsPlace
	case c.Stuck:
		return NeedsStart
	case c.OffBranch:
		return NeedsBranch
	case !c.Alive:
		return c.leftBehind()
	case c.State == session.StatePaused:
		return "" // somebody paused it, and knows
	}
	why := c.asks()
	if !c.UnwellAt.IsZero() && (why == "" || why.rank() > NeedsCare.rank()) {
		return NeedsCare
	}
	return why
}

// leftBehind is the need of a session whose agent is gone.
func (c *course) leftBehind() Reason {
	switch {
	case c.Activity == session.Failed:
		return NeedsHelp
	case c.State == session.StateStale:
		return NeedsAgent
	case c.State == session.StateStopped && c.Activity == session.Exited:
		return NeedsTime // nobody wanted it stopped
	}
	return "" // done, stopped, or not known
}

// asks is the need of a live agent.
func (c *course) asks() Reason {
	switch {
	case c.Activity == session.Blocked && c.turn.Held() >= turn.Calm:
		return NeedsAnswer
	case c.turn.Ended():
		return NeedsWork
	case !c.turn.Settled():
		return ""
	case c.Activity == session.BlockedAPI:
		return NeedsQuota
	case c.Activity == session.Failed:
		return NeedsHelp
	case c.Activity == session.Exited:
		return NeedsRestart
	}
	return ""
}

// Hope reports whether any of the sessions may come to need somebody by itself:
// its agent lives, is being started, or cannot be seen just now.
func (f *Follower) Hope() bool {
	for _, c := range f.courses {
		if !c.gone && c.Recorded && (c.Alive || c.UnderWay || c.State == session.StateUnknown) {
			return true
		}
	}
	return false
}
