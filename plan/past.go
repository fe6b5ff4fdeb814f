package plan

import (
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
)

// Moments returns what counts for restarts in a session's history, the oldest
// first.
func Moments(events []history.Event) []health.Moment {
	var all []health.Moment
	for _, e := range events {
		m := health.Moment{At: e.Time}
		starts := starts(Change{Action: Action(e.Action)})
		switch {
		case e.Kind == history.ApplyStart && starts && e.By != history.ByHub:
			m.What = health.Cleared
		case e.Kind == history.Held && e.By != history.ByHub: // someone approved a start that waits
			m.What = health.Cleared
		case e.Kind == history.ApplyStart && starts && !free(Reason(e.Reason)):
			m.What = health.Tried
		case e.Kind == history.ApplyErrored && e.By == history.ByHub:
			m.What = health.Failed
		case e.Kind == history.ApplyComplete && e.By == history.ByHub:
			m.What = health.Done
		case e.Kind == history.Launched:
			m.What = health.Launched
		case e.Kind == history.RunEnded:
			m.What, m.Lasted = health.Ended, e.Elapsed.D()
		case e.Kind == history.Held && e.Reason == string(ReasonBackingOff):
			m.What = health.Held
			m.Until, _ = time.Parse(time.RFC3339Nano, e.New) // without it the wait is reckoned
		case e.Kind == history.Escalated && e.Reason == string(ReasonBudgetSpent):
			m.What = health.Spent
		case e.Kind == history.Escalated && e.Reason == string(ReasonBackingOff):
			m.What = health.Escalated
		default:
			continue
		}
		all = append(all, m)
	}
	return all
}

// free reports whether a start for that reason costs no budget: nothing was wrong
// with the session, or a person approved it.
func free(r Reason) bool {
	return r == ReasonRebooted || r == ReasonLimitOver || r == ReasonFallback || r == ReasonResume || r == ReasonOverride || r == ReasonNew || r == ReasonQueued
}
