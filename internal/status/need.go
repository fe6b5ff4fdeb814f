package status

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Sort orders sessions by urgency: those that need attention, in the order of follow.Need.Compare,
// then those with a live agent, the paused, those that wait for their start, and those that are
// over; these by address.
func Sort(sessions []api.Session) { slices.SortStableFunc(sessions, Compare) }

// Compare is the order of Sort.
func Compare(x, y api.Session) int {
	if x.Needs != nil && y.Needs != nil {
		return NeedOf(x).Compare(NeedOf(y))
	}
	return cmp.Or(cmp.Compare(group(x), group(y)), cmp.Compare(place(x), place(y)), x.Address.Compare(y.Address))
}

// NeedOf returns the need in a session's document, which has one.
func NeedOf(x api.Session) follow.Need {
	return follow.Need{Address: x.Address, Priority: x.Priority, Reason: follow.Reason(x.Needs.Reason), Since: x.Needs.Since}
}

// NeedText returns why a session needs a person, and since when: asks for 3m, finished its turn 6h ago.
func NeedText(n api.Need, now time.Time) string {
	reason, past := follow.Reason(n.Reason), now.Sub(n.Since)
	word := cmp.Or(needWords[reason], n.Reason)
	switch reason {
	case follow.NeedsWork, follow.NeedsResume, follow.NeedsTime, follow.NeedsHelp, follow.NeedsRestart, follow.NeedsAgent:
		if past < time.Second {
			return word + " just now"
		}
		return word + " " + plaintext.Age(past) + " ago"
	}
	return word + " for " + plaintext.Age(past)
}

// needWords name what a session needs, if its reason does not.
var needWords = map[follow.Reason]string{
	follow.NeedsAnswer: "asks", follow.NeedsAgent: "exited", follow.NeedsWork: "finished its turn", follow.NeedsQuota: "at a limit",
	follow.NeedsBranch: "on another branch", follow.NeedsTime: "timed out", follow.NeedsFix: "red", follow.NeedsPR: "pull request", follow.NeedsResume: WordInterrupted,
}

func group(x api.Session) int {
	switch {
	case x.Needs != nil:
		return 0
	case x.Status.Terminal():
		return 4
	case x.State == session.StatePending:
		return 3
	case x.State == session.StatePaused:
		return 2
	}
	return 1
}

func place(x api.Session) int {
	if x.Queue == nil {
		return 1 << 30 // behind those with a place
	}
	return *x.Queue
}

// since returns since when a session is and does what its document says, or zero.
func (k Input) since() time.Time {
	r, l, state, does := k.Record, k.Live, k.state(), k.activity()
	switch {
	case r == nil:
		return time.Time{}
	case l != nil && l.Exit != nil:
		return l.Exit.At
	case r.Override != nil && (state == session.StatePaused || state == session.StateStopped):
		return r.Override.At
	case state == session.StateStarting:
		return r.Run.StartedAt
	case state != session.StateRunning || k.Look == nil:
		return time.Time{}
	}
	given, _ := activity.Given(*r, k.Events)
	ended := k.Look.TurnAt
	if n := k.Look.Transcript; n != nil {
		given = latest(given, n.PromptAt)
		if does == session.Working {
			ended = n.TurnAt
		}
	}
	switch {
	case does == session.Working && ended.After(given):
		return time.Time{} // what began its turn is not known
	case does == session.Working:
		return given
	case ended.After(given):
		return ended
	}
	if moved := k.movedAt(); !moved.IsZero() {
		return latest(given, moved)
	}
	for _, e := range slices.Backward(k.Events) {
		if now := session.StatusOf(state, does); e.Kind == history.StatusChanged && now != session.StatusRunning { // which is idle, too
			if e.Run == r.Run.ID && e.New == string(now) {
				return latest(given, e.Time)
			}
			break
		}
	}
	return time.Time{}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
