package follow

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// Reason is why a session needs a person.
type Reason string

// The reasons.
const (
	NeedsAnswer  Reason = "blocked"             // its agent asks something
	NeedsQuota   Reason = "blocked_api"         // its agent has reached a rate or usage limit
	NeedsWork    Reason = "turn_ended"          // its agent has done what it was given
	NeedsHelp    Reason = "failed"              // its agent says that it failed, or exited with a failure
	NeedsRestart Reason = "exited"              // its agent exited, and a shell has the terminal
	NeedsAgent   Reason = "stale"               // its tmux session or container is left, its agent is gone
	NeedsTime    Reason = "timeout"             // its run reached its timeout
	NeedsPlace   Reason = "error"               // its tmux session or container is gone, or the last action failed
	NeedsFix     Reason = "verification_failed" // its work fails verification, and its agent is sent nothing more
	NeedsPR      Reason = "pr_held"             // its agent is sent nothing more of its pull request
	NeedsBranch  Reason = "branch_mismatch"
	NeedsStart   Reason = "stuck"     // its start was approved, and a problem prevents it
	NeedsCare    Reason = "unhealthy" // the hub found it unhealthy, and does not restart it
)

// ranks orders reasons: an agent waits for an answer now, a limit ends by itself, and
// work that is done can wait. All others are 1.
var ranks = map[Reason]int{NeedsAnswer: 0, NeedsQuota: 2, NeedsWork: 3}

func (r Reason) rank() int {
	if n, ok := ranks[r]; ok {
		return n
	}
	return 1
}

// Need is a session that needs a person.
type Need struct {
	Address  session.Address
	Priority int
	Reason   Reason
	Since    time.Time // as far as known
}

// Compare orders sessions by who needs a person most: the blocked first, then those where
// something is wrong, those at a limit, and those whose turn has ended; within each by
// priority, the higher first, by time, the earlier first, and by address.
func (x Need) Compare(y Need) int {
	return cmp.Or(cmp.Compare(x.Reason.rank(), y.Reason.rank()), cmp.Compare(y.Priority, x.Priority),
		x.Since.Compare(y.Since), x.Address.Compare(y.Address))
}

// Needs returns the sessions that need a person, in the order of Compare.
func (f *Follower) Needs() []Need {
	var found []Need
	for _, a := range f.order {
		if n, needs := f.Need(a); needs {
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, Need.Compare)
	return found
}

// Need returns why a session needs a person, and whether it does.
func (f *Follower) Need(a session.Address) (Need, bool) {
	c := f.courses[a]
	if c == nil {
		return Need{}, false
	}
	return c.asNeed(c.need(false))
}

// Once returns why a session needs a person by one look at it, and whether it does. What
// a Follower sees for some time first counts at once, except for the end of its turn if several
// looks say something of that.
func Once(s Sight, of *turn.Course) (Need, bool) {
	var c course
	c.see(s.At, s)
	if of == nil {
		return c.asNeed(c.need(true))
	}
	since := c.turn.Since()
	c.turn = *of
	n, needs := c.asNeed(c.need(true))
	if n.Since.Equal(c.turn.Since()) && !s.Since.IsZero() {
		n.Since = since // as one look says, so that all say the same
	}
	return n, needs
}

func (c *course) asNeed(why Reason) (Need, bool) {
	return Need{c.Address, c.Priority, why, c.needSince(why)}, why != ""
}

// needSince returns since when the session has needed a person for a reason.
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
	case why == NeedsFix:
		return c.RedSince
	case why == NeedsPR:
		return c.PullSince
	}
	return c.turn.Since()
}

// need returns why the session needs a person, or "". once says that one look is enough.
func (c *course) need(once bool) Reason {
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
		return c.exitNeed()
	case c.State == session.StatePaused:
		return "" // whoever paused it knows
	}
	why := c.liveNeed(once)
	if c.ActionFailed && c.Given.IsZero() && (why == NeedsWork || why == "" && c.Activity == session.Idle) {
		return NeedsPlace // its start failed before it was given anything
	}
	if !c.UnwellAt.IsZero() && (why == "" || why.rank() > NeedsCare.rank()) {
		return NeedsCare
	}
	return why
}

// exitNeed returns the need of a session whose agent is gone.
func (c *course) exitNeed() Reason {
	switch {
	case c.Activity == session.Failed:
		return NeedsHelp
	case c.State == session.StateStale:
		return NeedsAgent
	case c.State == session.StateStopped && c.Activity == session.Exited:
		return NeedsTime // nobody wanted it stopped
	}
	return ""
}

// liveNeed returns the need of a live agent.
func (c *course) liveNeed(once bool) Reason {
	switch {
	case c.blocked(), once && c.Activity == session.Blocked:
		return NeedsAnswer
	case c.red():
		return NeedsFix
	case c.turn.Ended() && !c.PullSince.IsZero():
		return NeedsPR
	case c.turn.Ended():
		return NeedsWork
	case !once && !c.turn.Settled():
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

// Hope reports whether any session may come to need a person by itself: its agent lives,
// is being started, or cannot be observed now.
func (f *Follower) Hope() bool {
	for _, c := range f.courses {
		if !c.gone && c.Recorded && (c.Alive || c.UnderWay || c.State == session.StateUnknown) {
			return true
		}
	}
	return false
}
