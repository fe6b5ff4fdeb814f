package status

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Pending returns what is known of a wanted session that is not on record.
func Pending(x engine.Pending) Input {
	alive := x.Live != nil && x.Live.PlaceUp && x.Live.Liveness == session.Alive
	d := plan.Diagnosis{State: session.StatePending, Alive: &alive, Reason: plan.ReasonNew, Detail: "not applied yet"}
	switch {
	case alive && x.Adopts:
		d.Reason, d.Detail = plan.ReasonAdopt, "running but not in the state; the next apply adopts it"
	case alive:
		d.Reason, d.Detail = plan.ReasonAdopt, "running but not in the state"
	case x.Other != "":
		d.State, d.Alive, d.Reason, d.Detail = session.StateUnknown, nil, plan.ReasonAgentRuns, x.Other
	case x.Spec.Desired == session.Stopped:
		d.State, d.Detail = session.StateStopped, "declared stopped; never started"
	}
	return Input{Wanted: &x.Spec, Live: x.Live, Checkout: x.Checkout, Diagnosis: d}
}

// Transcript returns the path of the recorded screens in a session's directory, or "".
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

// Course is what is known of a recorded session from several looks.
type Course struct {
	turn.Course
	off   time.Time // since when its workspace is on another branch; zero: it is not
	draft time.Time // since when its composer has a text that was not sent; zero: it has none
}

// See adds what was observed of a recorded session to its course, and makes the result part of k.
func (k *Input) See(course *Course) {
	course.Course.See(k.turnLook())
	course.off = since(course.off, k.offBranch(), k.At)
	course.draft = since(course.draft, k.Look != nil && k.Look.Drafted, k.At)
	k.Turn, k.OffSince, k.DraftSince = new(course.Course), course.off, course.draft
}

// since returns since when something is so, by the looks before and this one; zero: it is not.
func since(before time.Time, is bool, at time.Time) time.Time {
	switch {
	case !is:
		return time.Time{}
	case before.IsZero():
		return at
	}
	return before
}

// Workspace returns the workspace of a recorded session as observed. What was not read has an error.
func (k Input) Workspace() session.Checkout {
	if k.Checkout == nil {
		return session.Checkout{Path: k.Record.Tree.Path, Err: session.ErrUnreachable}
	}
	return *k.Checkout
}

func (k Input) offBranch() bool {
	if k.Checkout == nil || k.spec().Branch == "" {
		return false
	}
	off := plan.OffBranch(*k.Checkout, k.spec().Branch)
	return off != "" && off != plan.ReasonUnreadable
}

// Doing returns what the agent of a recorded session does.
func (k Input) Doing() session.Doing {
	if k.Turn == nil {
		k.See(&Course{})
	}
	return activity.DoingOf(k.Turn, *k.Record, *k.Look, k.Events)
}

// turnLook returns what one look shows of the turn of a recorded session's agent.
func (k Input) turnLook() turn.Look {
	look, alive := activity.Look{}, k.Live != nil && k.Live.Liveness == session.Alive
	if k.Look != nil {
		look = *k.Look
	}
	l := activity.TurnLook(*k.Record, look, alive, k.movedAt(), k.Events, k.At)
	l.Since = k.since()
	if k.Live != nil && k.Live.Exit != nil {
		l.Ended = k.Live.Exit.At
	}
	return l
}

func (k Input) movedAt() time.Time {
	if k.Live == nil {
		return time.Time{}
	}
	return k.Live.MovedAt
}

// Followed returns what wait, next and watch follow of a session with document x.
func Followed(k Input, x api.Session) follow.Sight {
	s := follow.Sight{
		Address: x.Address, Status: x.Status, State: x.State, Activity: x.Activity, Alive: x.Alive != nil && *x.Alive, Desired: x.Desired,
		Stuck: k.Stuck, OffBranch: x.BranchOK != nil && !*x.BranchOK,
	}
	if x.Activity == session.Unobserved && k.Look != nil {
		s.Activity = k.Look.Detection.Activity // its screen shows whether it rests
	}
	s.Ready = k.Look != nil && k.Look.Prompt && s.Alive && x.State == session.StateRunning && takesPrompt(s.Activity)
	if x.Since != nil {
		s.Since = *x.Since
	}
	if k.Stuck {
		s.StuckAt = escalatedAt(k.Events)
	}
	if s.OffBranch {
		s.OffSince = cmp.Or(switchedAt(k.Checkout), k.OffSince, k.At)
	}
	if r := k.Record; r != nil {
		if k.Turn == nil {
			k.See(&Course{})
		}
		s.Turn = *k.Turn
		s.Given, _ = activity.Given(*r, k.Events)
		s.Interrupted = x.Interrupted
		s.Recorded, s.ActionFailed, s.Priority = true, r.LastError != "", r.Spec.Priority
		if o := r.OverBudget; o != nil && o.Desired == session.Stopped {
			s.Desired = o.Desired
		}
		if v := r.Verified; v != nil && v.Held {
			s.RedSince = v.At
		}
		if v := r.Verified; v.By(r.Spec.Verify) {
			s.VerifiedAt = v.At
		}
		if r.Landed != nil {
			s.LandedAt = r.Landed.At
		}
		if r.PRHeld() {
			s.PullSince = r.PR.HeldAt
		}
		if e := unverifiable(*r, k.Events); e != nil && s.RedSince.IsZero() {
			s.RedSince = e.Time
		}
		s.UnderWay = r.Intent != session.Settled && r.Intent != session.Queued && !s.ActionFailed
		if x, escalated := activity.Illness(*r, k.Events); x != nil && escalated {
			s.UnwellAt = x.Time
		}
	}
	if k.Wanted != nil {
		s.Priority = k.Wanted.Priority
	}
	return s
}

func escalatedAt(past []history.Event) time.Time {
	for _, e := range slices.Backward(past) {
		switch e.Kind {
		case history.Escalated:
			return e.Time
		case history.ApplyStart, history.Launched:
			return time.Time{}
		}
	}
	return time.Time{}
}

// unverifiable returns the event that the work of a run cannot be verified; nil: it was since, or
// its agent was given something else.
func unverifiable(r session.Record, past []history.Event) *history.Event {
	for i := range slices.Backward(past) {
		switch e := &past[i]; e.Kind {
		case history.Launched, history.Sent, history.PromptDelivered, history.Verified, history.VerificationFailed:
			return nil
		case history.Escalated:
			if e.Reason == history.CannotVerify && r.Spec.Verify.Declared() && (r.Verified == nil || !r.Verified.At.After(e.Time)) {
				return e
			}
		}
	}
	return nil
}

// switchedAt returns when git last wrote a workspace's HEAD, on a switch, or zero.
func switchedAt(co *session.Checkout) (at time.Time) {
	if co == nil || co.GitDir == "" {
		return at
	}
	if info, err := os.Stat(filepath.Join(co.GitDir, "HEAD")); err == nil {
		at = info.ModTime()
	}
	return at
}

func takesPrompt(a session.Activity) bool {
	return a == session.Idle || a == session.Done || a == session.NoActivity || a == session.Failed
}
