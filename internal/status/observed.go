package status

import (
	"os"
	"path/filepath"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Observed returns what is known of a recorded session: what the engine observed, what
// its agent does, and its history, oldest event first.
func Observed(x *engine.Seen, look activity.Look, past []history.Event) Input {
	return Input{Record: &x.Record, Live: x.Live, Diagnosis: x.Diagnosis, Checkout: &x.Checkout, Look: &look, Events: past}
}

// Pending returns what is known of a wanted session that is not on record.
func Pending(x engine.Pending) Input {
	alive := x.Live != nil && x.Live.PlaceUp && x.Live.Liveness == session.Alive
	d := plan.Diagnosis{State: session.StatePending, Alive: &alive, Reason: plan.ReasonNew, Detail: "not applied yet"}
	switch {
	case alive && x.Adopts:
		d.Reason, d.Detail = plan.ReasonAdopt, "running but not in the state; the next apply adopts it"
	case alive:
		d.Reason, d.Detail = plan.ReasonAdopt, "running but not in the state"
	case x.Spec.Desired == session.Stopped:
		d.State, d.Detail = session.StateStopped, "wanted stopped: never started"
	}
	return Input{Wanted: &x.Spec, Live: x.Live, Checkout: &x.Checkout, Diagnosis: d}
}

// Transcript returns the path of the recorded screens in a session's folder; empty if
// there are none.
func Transcript(folder string) string {
	path := filepath.Join(folder, history.TranscriptName)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Seen returns what the history of a recorded session is compared with.
func (k Input) Seen(at time.Time) activity.Seen {
	s := Of(k)
	x := activity.Seen{Record: *k.Record, Status: s.Status, State: s.State, Look: *k.Look, Attached: s.Attached, At: at, MovedAt: k.movedAt()}
	if k.Live != nil {
		x.Screen = k.Live.Screen
	}
	return x
}

// Doing returns what the agent of a recorded session does, for those that wait for it.
func (k Input) Doing(now time.Time) session.Doing {
	return activity.DoingOf(*k.Record, *k.Look, k.movedAt(), k.Events, now)
}

// movedAt returns when the session last put something out; zero if that is not known.
func (k Input) movedAt() time.Time {
	if k.Live == nil {
		return time.Time{}
	}
	return k.Live.MovedAt
}
