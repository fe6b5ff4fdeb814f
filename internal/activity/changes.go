package activity

import (
	"slices"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// Seen is an observation of a session, to compare with its history.
type Seen struct {
	Record   session.Record
	Status   session.Status
	State    session.State // distinguishes stale sessions from others that exited
	Look     Look
	Attached *int   // terminals; nil: unknown
	Screen   string // for the excerpt
	At       time.Time
	MovedAt  time.Time // last output; zero: unknown
}

// steadyTime is how long a screen must show the same status before it is recorded.
const steadyTime = 200 * time.Millisecond

// Tell adds the new events of an observation to the history in the session's directory, and returns
// them. On another status it also adds the screen to the transcript there. If past, the history as
// last read, already has everything, Tell takes no lock.
func (r *Reader) Tell(folder string, x Seen, past []history.Event) ([]history.Event, error) {
	if !r.steady(x) {
		x.Status = ""
	}
	if !Tellable(x.Record) || len(Changes(x, past)) == 0 {
		return nil, nil
	}
	added, err := history.Update(folder, func(past []history.Event) []history.Event { return Changes(x, past) })
	for _, e := range added {
		if err == nil && e.Kind == history.StatusChanged {
			err = history.AppendScreen(folder, e.Time, e.Run, e.Old+" → "+e.New, e.Excerpt)
		}
	}
	return added, err
}

// Tellable reports whether changes of a session are recorded: it has a run, and no action is in
// progress. An action that failed after the agent started is over.
func Tellable(rec session.Record) bool {
	failed := rec.LastError != "" && rec.Intent != session.Queued && !rec.Run.StartedAt.IsZero()
	return rec.Run.ID != "" && (rec.Intent == session.Settled || failed)
}

// drawTime is how long a dialog reported by a hook may take to appear on the screen. Its answers
// are reported with the question.
const drawTime = time.Second

// steady reports whether a status has a signal other than the screen, or has lasted.
func (r *Reader) steady(x Seen) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.run(x.Record.Run.ID)
	if x.Status != s.status {
		s.status, s.at = x.Status, x.At
	}
	if x.Status == session.StatusBlocked && x.Look.Detection.Question == nil && x.Look.Detection.Source != agent.FromScreen && x.At.Sub(s.at) < drawTime {
		return false
	}
	rests := !x.MovedAt.IsZero() && x.At.Sub(x.MovedAt) >= turn.Quiet
	return x.Look.Detection.Source != agent.FromScreen || rests || x.At.Sub(s.at) >= steadyTime
}

// Changes returns the events that a session's history lacks.
func Changes(x Seen, past []history.Event) []history.Event {
	run := x.Record.Run
	t := recordedOf(run.ID, past)
	var all []history.Event
	add := func(e history.Event) {
		e.Time, e.Address, e.ID, e.Run = x.At, x.Record.Address, x.Record.ID, run.ID
		all = append(all, e)
	}
	if n := x.Look.Transcript; n != nil && !t.observable && (n.Begun() || !x.Look.FirstTurnAt.IsZero()) {
		add(history.Event{Kind: history.Observable, New: n.Conversation, Detail: n.Path})
	}
	if at := x.Look.FirstTurnAt; at.After(run.StartedAt) && !t.firstTurn {
		add(history.Event{Kind: history.FirstTurnDone, Elapsed: session.Duration(at.Sub(run.StartedAt).Round(time.Millisecond))})
	}
	if x.Look.ready && run.ReadyAt.IsZero() && !t.ready {
		add(history.Event{Kind: history.Ready, Detail: "seen by a look"})
	}
	asksNext := x.Status == session.StatusBlocked && t.sent && x.Look.Detection.Question != nil && x.Look.Detection.Detail != t.detail
	if x.Status != "" && changed(x.Status, t.status) || asksNext {
		e := history.Event{Kind: history.StatusChanged, Old: string(t.status), New: string(x.Status),
			Detail: x.Look.Detection.Detail, Excerpt: x.Screen}
		if x.Status == session.StatusBlocked {
			e.Question = x.Look.Detection.Question
		}
		if x.Status == session.StatusExited && x.State == session.StateStale {
			e.Reason = string(x.State)
		}
		add(e)
	}
	if n := x.Attached; n != nil && *n > 0 != t.attached {
		kind := history.ClientAttached
		if t.attached {
			kind = history.ClientDetached
		}
		add(history.Event{Kind: kind})
	}
	if url := x.Look.Detection.PR; url != "" && !slices.Contains(t.requests, url) {
		add(history.Event{Kind: history.PRDetected, New: url})
	}
	return all
}

// changed reports whether a status is recorded here, and not by the command that starts or stops.
func changed(now, was session.Status) bool {
	starts := func(s session.Status) bool { return s == session.StatusBooting || s == session.StatusRunning }
	return now != session.StatusStopped && now != session.StatusPending && now != was && !(starts(now) && starts(was))
}

type recorded struct {
	status                                 session.Status
	detail                                 string // of the status
	sent                                   bool   // something was sent to the session since
	observable, firstTurn, ready, attached bool
	requests                               []string // the URLs, of all runs
}

func recordedOf(run string, events []history.Event) recorded {
	p := recorded{status: session.StatusRunning}
	for _, e := range events {
		if e.Kind == history.PRDetected {
			p.requests = append(p.requests, e.New)
		}
		if e.Run != run {
			continue
		}
		switch e.Kind {
		case history.StatusChanged:
			p.status, p.detail, p.sent = session.Status(e.New), e.Detail, false
		case history.ClientAttached, history.ClientDetached:
			p.attached = e.Kind == history.ClientAttached
		case history.Ready:
			p.ready = true
		case history.Sent:
			p.ready, p.sent = true, true
		case history.Observable:
			p.observable = true
		case history.FirstTurnDone:
			p.firstTurn = true
		}
	}
	return p
}

// FirstTurnAt returns the end of the first turn in the history, or zero.
func FirstTurnAt(rec session.Record, events []history.Event) time.Time {
	for _, e := range events {
		if e.Kind == history.FirstTurnDone && e.Run == rec.Run.ID {
			return rec.Run.StartedAt.Add(e.Elapsed.D())
		}
	}
	return time.Time{}
}

// Kept reports whether the history has the run's session file with a message.
func Kept(rec session.Record, events []history.Event) bool {
	return recordedOf(rec.Run.ID, events).observable
}

// Requests returns the URLs of pull requests in the history, oldest first.
func Requests(events []history.Event) []string { return recordedOf("", events).requests }

// Astray returns the event that a workspace is not on its recorded branch, unless the history has
// it.
func Astray(rec session.Record, found, detail string, past []history.Event) []history.Event {
	for _, e := range slices.Backward(past) {
		if e.Kind == history.BranchMismatch && e.New == found && e.Old == rec.Tree.Branch {
			return nil
		}
		if e.Kind == history.BranchMismatch || e.Kind == history.BranchRestored {
			break
		}
	}
	return []history.Event{{Kind: history.BranchMismatch, Address: rec.Address, ID: rec.ID, Run: rec.Run.ID,
		Old: rec.Tree.Branch, New: found, Detail: detail}}
}

// Illness returns the event with which the hub last found a run unhealthy, unless it was withdrawn,
// and whether it was escalated.
func Illness(rec session.Record, past []history.Event) (found *history.Event, escalated bool) {
	for i := range slices.Backward(past) {
		switch e := &past[i]; {
		case e.Kind == history.Healthy || e.Kind == history.Launched || e.Kind == history.RunEnded:
			return nil, false
		case e.Kind == history.Escalated && e.Reason == string(history.Unhealthy):
			escalated = true
		case e.Kind == history.Unhealthy && e.Run == rec.Run.ID:
			return e, escalated
		}
	}
	return nil, false
}
