package follow

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// Reason is why a session needs a person.
type Reason string

// The reasons.
const (
	NeedsAnswer  Reason = "blocked"             // its agent asks something
	NeedsQuota   Reason = "blocked_api"         // its agent has reached a rate or usage limit
	NeedsWork    Reason = "turn_ended"          // its agent has done what it was given
	NeedsResume  Reason = "turn_interrupted"    // its turn was cut off, and it rests since
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

// Needs returns who needs a person, in the order of Compare.
func Needs(all []Sight) []Need {
	var found []Need
	for _, s := range all {
		if why := s.need(false); why != "" {
			found = append(found, Need{s.Address, s.Priority, why, s.needSince(why, s.Turn.Since())})
		}
	}
	slices.SortStableFunc(found, Need.Compare)
	return found
}

// Shown returns why a session needs a person as its document shows that, and whether it does. What
// Needs waits for a moment to confirm counts at once, except for the end of its turn. The time is what
// one look says, so that who has just come says the same.
func Shown(s Sight) (Need, bool) {
	why, since := s.need(true), s.Since
	if since.IsZero() {
		since = s.Turn.Since()
	}
	return Need{s.Address, s.Priority, why, s.needSince(why, since)}, why != ""
}

// needSince returns since when the session has needed a person for a reason. since is since when it is
// as it is.
func (s Sight) needSince(why Reason, since time.Time) time.Time {
	switch {
	case why == NeedsBranch:
		return s.OffSince
	case why == NeedsStart && !s.StuckAt.IsZero():
		return s.StuckAt
	case why == NeedsCare:
		return s.UnwellAt
	case why == NeedsFix:
		return s.RedSince
	case why == NeedsPR:
		return s.PullSince
	}
	return since
}

// need returns why the session needs a person, or "". once says that one look is enough.
func (s Sight) need(once bool) Reason {
	switch {
	case !s.Recorded || s.UnderWay || s.Desired == session.Stopped:
		return ""
	case s.State == session.StateError || s.ActionFailed && !s.Alive:
		return NeedsPlace
	case s.Stuck:
		return NeedsStart
	case s.OffBranch:
		return NeedsBranch
	case !s.Alive:
		return s.exitNeed()
	case s.State == session.StatePaused:
		return "" // whoever paused it knows
	}
	why := s.liveNeed(once)
	if s.ActionFailed && s.Given.IsZero() && (why == NeedsWork || why == "" && s.Activity == session.Idle) {
		return NeedsPlace // its start failed before it was given anything
	}
	if !s.UnwellAt.IsZero() && (why == "" || why.rank() > NeedsCare.rank()) {
		return NeedsCare
	}
	return why
}

// exitNeed returns the need of a session whose agent is gone.
func (s Sight) exitNeed() Reason {
	switch {
	case s.Activity == session.Failed:
		return NeedsHelp
	case s.State == session.StateStale:
		return NeedsAgent
	case s.State == session.StateStopped && s.Activity == session.Exited:
		return NeedsTime // nobody wanted it stopped
	}
	return ""
}

// liveNeed returns the need of a live agent.
func (s Sight) liveNeed(once bool) Reason {
	switch {
	case s.blocked(), once && s.Activity == session.Blocked:
		return NeedsAnswer
	case s.red():
		return NeedsFix
	case s.Turn.Ended() && !s.PullSince.IsZero():
		return NeedsPR
	case s.Turn.Ended() && s.LandedAt.After(s.Turn.EndedAt()):
		return "" // whoever landed its work has seen it
	case s.cutOff(once):
		return NeedsResume
	case s.Turn.Ended():
		return NeedsWork
	case !once && !s.Turn.Settled():
		return ""
	case s.Activity == session.BlockedAPI:
		return NeedsQuota
	case s.Activity == session.Failed:
		return NeedsHelp
	case s.Activity == session.Exited:
		return NeedsRestart
	}
	return ""
}

// cutOff reports whether a live agent rests since its turn was cut off. once says that one look is enough.
func (s Sight) cutOff(once bool) bool {
	return s.Interrupted && s.Activity == session.Idle && (once || s.Turn.Settled())
}

// Hope reports whether any session may come to need a person by itself: its agent lives,
// is being started, or cannot be observed now.
func Hope(all []Sight) bool {
	return slices.ContainsFunc(all, func(s Sight) bool {
		return s.Recorded && (s.Alive || s.UnderWay || s.State == session.StateUnknown)
	})
}
