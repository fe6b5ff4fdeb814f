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

// Diagnose compares a record with its live object. Either may be nil. A runtime
// that did not answer makes a session unknown, never dead.
func Diagnose(r *session.Record, l *session.Live, w session.World) Diagnosis {
	if r != nil {
		if d, away := elsewhere(*r, w); away {
			return d
		}
		if err, asked := w.Runtimes[r.Spec.Runtime.Engine()]; err != nil || !asked {
			detail := r.Spec.Runtime.Engine() + " was not looked at"
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
	case !l.PlaceUp:
		return down(r, l, w)
	case l.Liveness == session.Unknown:
		return Diagnosis{State: session.StateUnknown, Activity: session.NoActivity, Reason: ReasonUnreachable,
			Detail: cmp.Or(l.UnknownReason, "its signals contradict each other")}
	case l.Liveness == session.Dead:
		return ended(r, l)
	case l.Suspended:
		return Diagnosis{State: session.StatePaused, Alive: yes(), Reason: ReasonInSync,
			Detail: "its process is stopped (SIGSTOP or Ctrl-Z)", Remedy: session.Remedy{Code: session.RemedyResume, Address: l.Mark.Address}}
	case l.Frozen || l.InputOff:
		return Diagnosis{State: session.StatePaused, Alive: yes(), Reason: ReasonInSync, Detail: "paused"}
	}
	return Diagnosis{State: session.StateRunning, Alive: yes(), Reason: ReasonInSync, Detail: "running"}
}

// underWay diagnoses a session without a running agent that a command is working
// on. ok is false for any other.
func underWay(r *session.Record, l *session.Live, w session.World) (d Diagnosis, ok bool) {
	if l != nil && l.PlaceUp && l.Liveness != session.Dead || r != nil && w.Runs[r.Run.ID].Alive {
		return Diagnosis{}, false
	}
	d = Diagnosis{State: session.StatePending, Alive: no(), Reason: ReasonUnderWay, Detail: atWork(r, w)}
	if r != nil && (r.Intent == session.Stopping || r.Intent == session.Removing) {
		d.State, d.Activity = session.StateStopped, session.Exited
	}
	return d, d.Detail != ""
}

// atWork says what a command is doing to a session now, or "". A record that was
// saved before the command started is not its work.
func atWork(r *session.Record, w session.World) string {
	if r == nil || r.LastError != "" || w.Writer.Name == "" || r.UpdatedAt.Before(w.Writer.Since) {
		return ""
	}
	switch r.Intent {
	case session.Creating:
		return "being created by " + w.Writer.Name
	case session.Restarting:
		return "being restarted by " + w.Writer.Name
	case session.Stopping:
		return "being stopped by " + w.Writer.Name
	case session.Removing:
		return "being removed by " + w.Writer.Name
	}
	return ""
}

// down diagnoses a place that exists and does not run. A session that ended before
// its place did needs none.
func down(r *session.Record, l *session.Live, w session.World) Diagnosis {
	if r != nil && r.Intent == session.Queued {
		return approved(r)
	}
	if d, ok := concluded(agentOf(r, l), l.Exit); ok {
		return d
	}
	if r != nil && rebooted(*r, w) {
		return dead(session.StateError, ReasonRebooted, rebootWords(*r, w), nil)
	}
	d := dead(session.StateError, ReasonGone, "the "+l.Location.Traits().Noun+" does not run", l.Exit)
	if l.UnknownReason != "" {
		d.Detail = l.UnknownReason
	}
	return d
}

// absent diagnoses a record without a live object.
func absent(r *session.Record, w session.World) Diagnosis {
	if r == nil {
		return Diagnosis{State: session.StatePending, Alive: no(), Reason: ReasonNew, Detail: "not on record"}
	}
	facts := w.Runs[r.Run.ID]
	over, ended := concluded(r.Spec.Agent, facts.Exit)
	switch {
	case facts.Alive:
		return outOfReach(*r, facts)
	case r.Intent == session.Queued:
		return approved(r)
	case r.Intent == session.Creating && r.LastError != "":
		return dead(session.StateError, ReasonInterrupted, "its creation failed: "+r.LastError, nil)
	case r.Intent == session.Creating:
		return Diagnosis{State: session.StatePending, Alive: no(), Reason: ReasonInterrupted, Detail: "its creation was interrupted"}
	case ended:
		return over
	case Desired(*r) == session.Stopped:
		d := Diagnosis{State: session.StateStopped, Alive: no(), Reason: ReasonStop, Detail: "stopped"}
		if facts.Exit != nil {
			d.Activity = session.Exited
		}
		return d
	case rebooted(*r, w):
		return dead(session.StateError, ReasonRebooted, rebootWords(*r, w), nil)
	}
	return dead(session.StateError, ReasonGone, r.Location.Traits().Noun+" is gone", facts.Exit)
}

// outOfReach diagnoses a session whose agent runs and whose place cannot be found,
// for example because its tmux server lost its socket. Its activity is unknown.
func outOfReach(r session.Record, facts session.RunFacts) Diagnosis {
	return Diagnosis{State: session.StateUnknown, Activity: session.NoActivity, Reason: ReasonUnreachable,
		Detail: fmt.Sprintf("its %s cannot be found, but its agent runs (process %d)", r.Location.Traits().Noun, facts.Agent.PID),
		Remedy: session.Remedy{Code: session.RemedyDoctor, Address: r.Address}}
}

// approved diagnoses a session whose start was approved and waits.
func approved(r *session.Record) Diagnosis {
	if Desired(*r) == session.Stopped {
		return Diagnosis{State: session.StateStopped, Alive: no(), Reason: ReasonStop, Detail: "stopped"}
	}
	return Diagnosis{State: session.StatePending, Alive: no(), Reason: ReasonQueued, Detail: "approved, and not started yet"}
}

// ended diagnoses a running place with a dead agent in it.
func ended(r *session.Record, l *session.Live) Diagnosis {
	agent := agentOf(r, l)
	if r != nil && r.Intent == session.Queued {
		return approved(r)
	}
	if d, ok := concluded(agent, l.Exit); ok {
		return d
	}
	reason := ReasonStale
	if l.Exit != nil {
		switch {
		case failure(*l.Exit):
			reason = ReasonFailed
		default:
			reason = ReasonExited
		}
	}
	stands := " stands"
	if !l.Location.Traits().HostProcesses {
		stands = " runs"
	}
	d := dead(session.StateStale, reason, "stale: "+l.Location.Traits().Noun+stands+", session is gone", l.Exit)
	d.Activity = session.Exited
	if l.Exit != nil && failure(*l.Exit) && (agent.OneShot || l.Exit.Cause == "failed_start") {
		d.Activity = session.Failed
	}
	return d
}

// agentOf returns the recorded agent, or else the launched one.
func agentOf(r *session.Record, l *session.Live) session.AgentSpec {
	switch {
	case r != nil:
		return r.Spec.Agent
	case l.Spec != nil:
		return l.Spec.Agent
	}
	return session.AgentSpec{}
}

// concluded diagnoses a run that finished or reached its timeout, whatever became
// of its place. ok is false for any other.
func concluded(a session.AgentSpec, e *session.Exit) (d Diagnosis, ok bool) {
	switch {
	case timedOut(e):
		return overTime(*e), true
	case a.Finished(e):
		return Diagnosis{State: session.StateStopped, Activity: session.Done, Alive: no(), Reason: ReasonFinished, Detail: "finished"}, true
	}
	return Diagnosis{}, false
}

// rebooted reports whether the machine, or the container that agentform runs in,
// was started after the recorded run.
func rebooted(r session.Record, w session.World) bool {
	return r.Run.BootID != "" && w.BootID != "" && r.Run.BootID != w.BootID || r.Owner.Differs(w.Here) == session.Restarted
}

// rebootWords says what was started again.
func rebootWords(r session.Record, w session.World) string {
	if r.Owner.Differs(w.Here) == session.Restarted {
		return "container restarted"
	}
	return "host rebooted"
}

// timedOut reports whether a run reached its timeout.
func timedOut(e *session.Exit) bool { return e != nil && e.Cause == "timeout" }

// overTime diagnoses a run that reached its timeout. It stays stopped until someone
// restarts it.
func overTime(e session.Exit) Diagnosis {
	return Diagnosis{State: session.StateStopped, Activity: session.Exited, Alive: no(), Reason: ReasonTimeout,
		Detail: fmt.Sprintf("stopped: its timeout passed after %s", e.Ran), Remedy: session.Remedy{Code: session.RemedyRestart}}
}

func failure(e session.Exit) bool { return e.Code != 0 || e.Signal != "" || e.Cause == "failed_start" }

func dead(s session.State, reason Reason, detail string, e *session.Exit) Diagnosis {
	if e != nil {
		detail += " (" + e.String() + ")"
	}
	return Diagnosis{State: s, Activity: session.Exited, Alive: no(), Reason: reason, Detail: detail}
}

// Desired returns what the session was last told to be, by an override or by its
// recorded spec.
func Desired(r session.Record) session.Desired {
	if r.Override != nil {
		return r.Override.Desired
	}
	return r.Spec.Desired
}

func yes() *bool { t := true; return &t }
func no() *bool  { f := false; return &f }
