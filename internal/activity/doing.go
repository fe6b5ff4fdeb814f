package activity

import (
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// restsFor is how long an agent that was not observed working must rest after a
// message to have ended a turn.
const restsFor = 5 * time.Second

// DoingOf returns what a session's agent does, from a look and its history. moved
// is when its screen last changed.
func DoingOf(rec session.Record, x Look, moved time.Time, past []history.Event, now time.Time) session.Doing {
	given, _ := Given(rec, past)
	return session.Doing{Run: rec.Run.ID, Activity: x.Activity, Since: given, Starting: x.Starting, Turn: turned(rec, x, moved, past, now)}
}

// turned reports whether a turn has ended since the agent got its prompt, in this
// run or one whose conversation it resumed.
func turned(rec session.Record, x Look, moved time.Time, past []history.Event, now time.Time) bool {
	if !x.FirstTurnAt.IsZero() {
		return true
	}
	prompted := rec.Run.DeliveredAt
	for _, e := range past {
		if e.Kind == history.FirstTurnDone && (e.Run == rec.Run.ID || !prompted.IsZero() && e.Time.After(prompted)) {
			return true
		}
	}
	given, _ := Given(rec, past)
	return x.Detection.Activity == session.Idle && !given.IsZero() && now.Sub(given) > restsFor &&
		!moved.IsZero() && now.Sub(moved) > restsFor
}
