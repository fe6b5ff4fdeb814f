package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// unmet is a dependency that keeps a session from starting.
type unmet struct {
	on     session.Address
	detail string
	lost   bool // it does not come to what is waited for by itself
	faulty bool // it is in error
}

func (q *queue) dependencies(c Change) (_ Change, isHeld bool) {
	var open []unmet
	for _, need := range q.join.needs(c.Address) {
		if d := q.changes[need]; d != nil {
			until := q.join.wanted[c.Address].UntilOf(need)
			if c.Action == Restart && !c.Fresh {
				until = session.AwaitReady // it continues work that was waiting
			}
			if u, met := q.met(d, until); !met {
				open = append(open, u)
			}
		}
	}
	if len(open) == 0 {
		return c, false
	}
	if i := slices.IndexFunc(open, func(u unmet) bool { return u.lost }); i >= 0 {
		reason := ReasonDependencyFailed
		if open[i].faulty {
			reason = ReasonDependency
		}
		c = held(c, reason, fmt.Sprintf("depends on %s, which %s", open[i].on, open[i].detail))
		c.Skips = true
		return c, true
	}
	const shown = 3
	var names []string
	for i, u := range open {
		if i == shown && len(open) > shown+1 {
			names = append(names, fmt.Sprintf("%d more", len(open)-shown))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", u.on, u.detail))
	}
	return held(c, ReasonDependency, "waiting for "+strings.Join(names, ", ")), true
}

// met reports whether a dependency has reached what is waited for, and what it does
// if not.
func (q *queue) met(d *Change, until session.Await) (_ unmet, met bool) {
	u := unmet{on: d.Address, detail: string(until)}
	alive := d.Live != nil && d.Live.Liveness == session.Alive
	does, known := q.join.doing(d.Address)
	switch {
	case until == session.AwaitReady:
		return q.ready(d, alive, does, known)
	case q.join.in.ByHand && q.join.in.Hub == nil:
		return u, true // a manual start ignores dependencies
	case q.faulty[d.Address] && d.Action == None || d.Action == Hold:
		return q.blocked(d), false
	case starts(*d):
		u.detail = goal(until)
		return u, false
	}
	diagnosis := Diagnosis{State: session.StatePending}
	if d.Before != nil {
		diagnosis = Diagnose(d.Before, d.Live, q.join.in.World)
	}
	switch {
	case diagnosis.Reason == ReasonFinished:
		return u, true
	case until == session.AwaitVerified && d.Before != nil && d.After != nil && d.Before.Verified.By(d.After.Verify) && d.Before.Verified.At.After(d.Before.Run.DeliveredAt):
		return u, true
	case until == session.AwaitTurn && known && does.Turn && does.Activity != session.BlockedAPI && does.Activity != session.Failed:
		return u, true
	case diagnosis.State == session.StatePaused:
		u.detail = diagnosis.Detail
	case alive && known && does.Activity != session.NoActivity && does.Activity != session.Unobserved:
		u.detail = does.At(q.join.in.Now) + ", " + goal(until)
	case alive:
		u.detail = session.Doing{Activity: "running", Since: d.Before.Run.StartedAt}.At(q.join.in.Now) + ", " + goal(until)
	case d.Before == nil || diagnosis.State == session.StateUnknown:
		u.detail = d.Detail
	default:
		u.detail, u.lost = q.fate(d, diagnosis), true
	}
	return u, false
}

// goal says what is waited for.
func goal(until session.Await) string {
	switch until {
	case session.AwaitTurn:
		return "to end its first turn"
	case session.AwaitVerified:
		return "to be verified"
	}
	return "to finish"
}

func (q *queue) blocked(d *Change) unmet {
	u := unmet{on: d.Address, detail: d.Detail}
	switch {
	case d.Action != Hold:
		u.detail, u.lost, u.faulty = "has an error: "+d.Detail, true, true
	case d.Reason == ReasonPolicy || d.Reason == ReasonBudgetSpent:
		u.detail, u.lost = q.fate(d, Diagnose(d.Before, d.Live, q.join.in.World)), true
	case d.Skips:
		u.lost, u.faulty = true, d.Reason == ReasonDependency
	case d.Reason == ReasonDependency:
		u.detail = "also held"
	case d.Reason == ReasonInterrupted:
		u.detail, u.lost = "is being removed", true
	}
	return u
}

func (q *queue) fate(d *Change, diagnosis Diagnosis) string {
	exit := q.join.exit(*d)
	switch {
	case diagnosis.Reason == ReasonTimeout:
		return "was stopped at its timeout"
	case diagnosis.State == session.StateStopped:
		return "is stopped"
	case exit == nil:
		return "is not running"
	case diagnosis.Activity == session.Failed:
		return "failed (" + exit.String() + ")"
	}
	return "exited (" + exit.String() + ")"
}

// ready is met for until = "ready", which a start by the same plan reaches, too.
func (q *queue) ready(d *Change, alive bool, does session.Doing, known bool) (unmet, bool) {
	u := unmet{on: d.Address}
	switch {
	case d.Action == Update && d.Before.LastError != "":
		return u, true // the same apply waits until it is ready
	case alive && known && (does.Starting || does.Activity == session.Booting && d.Before.Run.ReadyAt.IsZero()):
		u.detail = "not ready yet"
		return u, false
	case alive:
		return u, true
	case d.Action == Hold || q.faulty[d.Address] && d.Action == None:
		return q.blocked(d), false
	case d.Reason == ReasonUnreachable && (d.Before == nil || d.Before.Run.ReadyAt.IsZero()):
		u.detail = "unknown"
		return u, false
	}
	return u, true
}

// Waits reports whether the change is a start that waits for max_running, or for a
// dependency that can still be met.
func (c Change) Waits() bool {
	return c.Action == Hold && !c.Skips && (c.Reason == ReasonQueued || c.Reason == ReasonDependency)
}

// Starts reports whether the change starts the session's agent now.
func (c Change) Starts() bool {
	return c.After != nil && (c.Action == Create || c.Action == Restart)
}

// Queues reports whether the change is a waiting start that can be recorded to happen later. A
// session that is to be replaced stays unchanged.
func (c Change) Queues() bool {
	return c.Waits() && c.After != nil && (c.Holds == Create || c.Holds == Restart && c.Before.Intent != session.Creating)
}

// Stuck reports whether the change is an approved start that a problem prevents.
func (c Change) Stuck() bool {
	return c.Before != nil && c.Before.Intent == session.Queued && c.Action == None && c.Reason != ReasonStop
}

// Queued reports whether exactly that start is already recorded.
func (c Change) Queued() bool {
	if c.Before == nil || c.After == nil || c.Before.Intent != session.Queued {
		return false
	}
	fields, _ := compare(&c.Before.Spec, c.After)
	return len(fields) == 0
}
