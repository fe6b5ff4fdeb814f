package plan

import (
	"cmp"
	"fmt"

	"github.com/agentform/agentform/session"
)

// Diagnosis is what is wrong with a session.
type Diagnosis struct {
	State    session.State
	Activity session.Activity // of a dead session; empty while it lives: its agent says
	Alive    *bool            // nil: cannot be known
	Reason   Reason
	Detail   string // for people
	Remedy   session.Remedy
}

// Diagnose compares a record with its live object. Either may be nil. An unresponsive runtime makes
// a session unknown, never dead.
func Diagnose(r *session.Record, l *session.Live, w session.World) Diagnosis {
	if r != nil {
		if d, away := elsewhere(*r, w); away {
			return d
		}
		if err, asked := w.Runtimes[r.Spec.Runtime.Engine()]; err != nil || !asked {
			detail := r.Spec.Runtime.Engine() + " was not inspected"
			if err != nil {
				detail = err.Error()
			}
			return Diagnosis{State: session.StateUnknown, Activity: session.NoActivity, Reason: ReasonUnreachable, Detail: detail}
		}
	}
	if d, ok := underWay(r, l, w); ok {
		return d
	}
	if l == nil {
		return absent(r, w)
	}
	switch {
	case l.PlaceUp && l.Liveness == session.Unknown:
		return Diagnosis{State: session.StateUnknown, Activity: session.NoActivity, Reason: ReasonUnreachable,
			Detail: cmp.Or(l.UnknownReason, "its signals contradict each other")}
	case !l.PlaceUp || l.Liveness == session.Dead:
		return ended(r, l, w)
	case l.Suspended:
		return Diagnosis{State: session.StatePaused, Alive: new(true), Reason: ReasonInSync,
			Detail: "its process is stopped (SIGSTOP or Ctrl-Z)", Remedy: session.Remedy{Code: session.RemedyResume, Address: l.Mark.Address}}
	case l.Frozen || l.InputOff:
		return Diagnosis{State: session.StatePaused, Alive: new(true), Reason: ReasonInSync, Detail: "paused"}
	}
	return Diagnosis{State: session.StateRunning, Alive: new(true), Reason: ReasonInSync, Detail: "running"}
}

// underWay diagnoses a session without a running agent that a command is working on. An agent
// whose place is not found may have been started right after places were listed.
func underWay(r *session.Record, l *session.Live, w session.World) (d Diagnosis, ok bool) {
	if l != nil && l.PlaceUp && l.Liveness != session.Dead || r != nil && w.Runs[r.Run.ID].Alive && !starting(*r) {
		return Diagnosis{}, false
	}
	d = Diagnosis{State: session.StatePending, Alive: new(false), Reason: ReasonUnderWay, Detail: atWork(r, w)}
	if r != nil && (r.Intent == session.Stopping || r.Intent == session.Removing) {
		d.State, d.Activity = session.StateStopped, session.Exited
	}
	return d, d.Detail != ""
}

func starting(r session.Record) bool {
	return r.Intent == session.Creating || r.Intent == session.Restarting
}

// atWork returns what a command is currently doing to a session, or "". A record that was saved
// before the command started is not its work.
func atWork(r *session.Record, w session.World) string {
	if r == nil || r.LastError != "" || w.Writer.Name == "" || r.UpdatedAt.Before(w.Writer.Since) {
		return ""
	}
	if work := works[r.Intent]; work != "" {
		return "being " + work + " by " + w.Writer.Name
	}
	return ""
}

var works = map[session.Intent]string{
	session.Creating: "created", session.Restarting: "restarted",
	session.Stopping: "stopped", session.Removing: "removed",
}

func absent(r *session.Record, w session.World) Diagnosis {
	if r == nil {
		return Diagnosis{State: session.StatePending, Alive: new(false), Reason: ReasonNew, Detail: "not in the state"}
	}
	facts := w.Runs[r.Run.ID]
	over, ended := concluded(r, r.Spec.Agent, facts.Exit)
	switch {
	case facts.Alive:
		return Diagnosis{State: session.StateUnknown, Activity: session.NoActivity, Reason: ReasonUnreachable,
			Detail: fmt.Sprintf("its %s cannot be found, but its agent is running (process %d)", r.Location.Traits().Noun, facts.Agent.PID),
			Remedy: session.Remedy{Code: session.RemedyDoctor, Address: r.Address}}
	case r.Intent == session.Queued:
		return approved(r)
	case r.Intent == session.Creating && r.LastError != "":
		return dead(session.StateError, ReasonInterrupted, "its creation failed: "+r.LastError, nil)
	case r.Intent == session.Creating:
		return Diagnosis{State: session.StatePending, Alive: new(false), Reason: ReasonInterrupted, Detail: "its creation was interrupted"}
	case ended:
		return over
	case Desired(*r) == session.Stopped:
		d := Diagnosis{State: session.StateStopped, Alive: new(false), Reason: ReasonStop, Detail: "stopped"}
		if facts.Exit != nil {
			d.Activity = session.Exited
		}
		return d
	case rebooted(*r, w) != "":
		return dead(session.StateError, ReasonRebooted, rebooted(*r, w), nil)
	}
	return dead(session.StateError, ReasonGone, r.Location.Traits().Noun+" is gone", facts.Exit)
}

// approved diagnoses a session whose start was approved and waits.
func approved(r *session.Record) Diagnosis {
	if Desired(*r) == session.Stopped {
		return Diagnosis{State: session.StateStopped, Alive: new(false), Reason: ReasonStop, Detail: "stopped"}
	}
	return Diagnosis{State: session.StatePending, Alive: new(false), Reason: ReasonQueued, Detail: "approved, and not started yet"}
}

// ended diagnoses a live object without a running agent. A session that ended before its place did
// needs none.
func ended(r *session.Record, l *session.Live, w session.World) Diagnosis {
	var agent session.AgentSpec
	switch {
	case r != nil && r.Intent == session.Queued:
		return approved(r)
	case r != nil:
		agent = r.Spec.Agent
	case l.Spec != nil:
		agent = l.Spec.Agent
	}
	if d, ok := concluded(r, agent, l.Exit); ok {
		return d
	}
	if !l.PlaceUp {
		if r != nil && rebooted(*r, w) != "" {
			return dead(session.StateError, ReasonRebooted, rebooted(*r, w), nil)
		}
		d := dead(session.StateError, ReasonGone, "the "+l.Location.Traits().Noun+" is not running", l.Exit)
		d.Detail = cmp.Or(l.UnknownReason, d.Detail)
		return d
	}
	d := dead(session.StateStale, ReasonStale, "agent exited", l.Exit)
	switch {
	case l.Exit == nil:
		d.Detail = cmp.Or(l.UnknownReason, d.Detail)
	case !l.Exit.Failed():
		d.Reason = ReasonExited
	default:
		d.Reason = ReasonFailed
		if agent.OneShot || l.Exit.Cause == session.CauseFailedStart {
			d.Activity = session.Failed
		}
	}
	return d
}

// concluded diagnoses a run that finished, or that reached its timeout and stays stopped
// until someone restarts it, whatever became of its place. r may be nil.
func concluded(r *session.Record, a session.AgentSpec, e *session.Exit) (d Diagnosis, ok bool) {
	d = Diagnosis{State: session.StateStopped, Alive: new(false)}
	switch {
	case r != nil && (r.Finished != nil || r.Spent()):
		d.Activity, d.Reason, d.Detail = session.Done, ReasonFinished, cmp.Or(landing(r), "finished")
	case e != nil && e.Cause == session.CauseTimeout:
		d.Activity, d.Reason, d.Remedy.Code = session.Exited, ReasonTimeout, session.RemedyRestart
		d.Detail = fmt.Sprintf("stopped: its timeout passed after %s", e.Ran)
	case a.Finished(e):
		d.Activity, d.Reason, d.Detail = session.Done, ReasonFinished, cmp.Or(landing(r), "finished")
	default:
		return Diagnosis{}, false
	}
	return d, true
}

// rebooted returns what was started after the recorded run, the machine or agentform's container,
// or "".
func rebooted(r session.Record, w session.World) string {
	switch {
	case r.Spec.Runtime.Traits().Everywhere:
		return ""
	case r.Owner.Differs(w.Here) == session.Restarted:
		return "container restarted"
	case r.Run.BootID != "" && w.BootID != "" && r.Run.BootID != w.BootID:
		return "host rebooted"
	}
	return ""
}

func dead(s session.State, reason Reason, detail string, e *session.Exit) Diagnosis {
	if e != nil {
		detail += " (" + e.String() + ")"
	}
	return Diagnosis{State: s, Activity: session.Exited, Alive: new(false), Reason: reason, Detail: detail}
}

// Desired returns the session's desired state from the last override or its recorded spec, as far
// as its budgets allow that.
func Desired(r session.Record) session.Desired { return allowed(asked(r), r.OverBudget) }

func asked(r session.Record) session.Desired {
	if r.Override != nil {
		return r.Override.Desired
	}
	return r.Spec.Desired
}
