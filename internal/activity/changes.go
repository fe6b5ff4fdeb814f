package activity

import (
	"slices"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// Seen is an observation of a session, to compare with its history.
type Seen struct {
	Record session.Record
	Status session.Status
	State  session.State // tells stale sessions from others that exited
	Look   Look
	// Attached counts attached terminals; nil: unknown.
	Attached *int
	Screen   string // for the excerpt
	At       time.Time
	MovedAt  time.Time // last output; zero: unknown
}

// quietTime is how long a session without output is not between two states:
// runtimes count seconds.
const quietTime = 2 * time.Second

// steadyTime is how long a screen must show the same status before it is recorded.
const steadyTime = 200 * time.Millisecond

// Tell adds to the history in the session's directory what is new in an
// observation, and returns it; with another status, the screen goes to the
// transcript there. past is the history as it was read, so that nothing is locked
// when there is nothing new.
func (r *Reader) Tell(folder string, x Seen, past []history.Event) ([]history.Event, error) {
	if !r.steady(x) {
		x.Status = ""
	}
	if !Tellable(x.Record) || len(Changes(x, past)) == 0 {
		return nil, nil
	}
	told, err := history.Update(folder, func(past []history.Event) []history.Event { return Changes(x, past) })
	for _, e := range told {
		if err == nil && e.Kind == history.StatusChanged {
			err = history.AppendScreen(folder, e.Time, e.Run, e.Old+" → "+e.New, e.Excerpt)
		}
	}
	return told, err
}

// Tellable reports whether changes of a session are recorded: it has a run, and no
// action is in progress. An action that failed after the agent started is over.
func Tellable(rec session.Record) bool {
	failed := rec.LastError != "" && rec.Intent != session.Queued && !rec.Run.StartedAt.IsZero()
	return rec.Run.ID != "" && (rec.Intent == session.Settled || failed)
}

// steady reports whether a status can be recorded: it does not come from the screen
// alone, or it has lasted.
func (r *Reader) steady(x Seen) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.run(x.Record.Run.ID)
	if x.Status != s.told {
		s.told, s.at = x.Status, x.At
	}
	rests := !x.MovedAt.IsZero() && x.At.Sub(x.MovedAt) >= quietTime
	return x.Look.Detection.Source != "screen" || rests || x.At.Sub(s.at) >= steadyTime
}

// Changes returns the events that a session's history lacks.
func Changes(x Seen, past []history.Event) []history.Event {
	run := x.Record.Run
	t := toldOf(run.ID, past)
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
	if recorded(x.Status) && plain(x.Status) != plain(t.status) {
		e := history.Event{Kind: history.StatusChanged, Old: string(t.status), New: string(x.Status),
			Detail: x.Look.Detection.Detail, Excerpt: x.Screen}
		if x.Status == session.StatusExited && x.State == session.StateStale {
			e.Reason = string(x.State)
		}
		add(e)
	}
	if n := x.Attached; n != nil && *n > 0 && !t.attached {
		add(history.Event{Kind: history.ClientAttached})
	} else if n != nil && *n == 0 && t.attached {
		add(history.Event{Kind: history.ClientDetached})
	}
	if url := x.Look.Detection.PR; url != "" && !slices.Contains(t.requests, url) {
		add(history.Event{Kind: history.PRDetected, New: url})
	}
	return all
}

// recorded reports whether a change to a status is recorded here. Stops and starts
// are recorded by the command that does them.
func recorded(s session.Status) bool {
	return s != "" && s != session.StatusStopped && s != session.StatusPending
}

// plain maps booting to running: the launch is recorded.
func plain(s session.Status) session.Status {
	if s == session.StatusBooting {
		return session.StatusRunning
	}
	return s
}

// past is what a history has of a run.
type past struct {
	status                session.Status
	observable, firstTurn bool
	ready                 bool
	attached              bool
	requests              []string // the URLs, of all runs
}

func toldOf(run string, events []history.Event) past {
	p := past{status: session.StatusRunning}
	for _, e := range events {
		if e.Kind == history.PRDetected {
			p.requests = append(p.requests, e.New)
		}
		if e.Run != run {
			continue
		}
		switch e.Kind {
		case history.StatusChanged:
			p.status = session.Status(e.New)
		case history.ClientAttached, history.ClientDetached:
			p.attached = e.Kind == history.ClientAttached
		case history.Ready, history.Sent:
			p.ready = true
		case history.Observable:
			p.observable = true
		case history.FirstTurnDone:
			p.firstTurn = true
		}
	}
	return p
}

// FirstTurnAt returns when the first turn of a run ended by its history, or zero.
func FirstTurnAt(rec session.Record, events []history.Event) time.Time {
	for _, e := range events {
		if e.Kind == history.FirstTurnDone && e.Run == rec.Run.ID {
			return rec.Run.StartedAt.Add(e.Elapsed.D())
		}
	}
	return time.Time{}
}

// Kept reports whether the history has seen the agent's own file of the run, with a
// message in it.
func Kept(rec session.Record, events []history.Event) bool {
	return toldOf(rec.Run.ID, events).observable
}

// Requests returns the URLs of the pull requests in the history, the oldest first.
func Requests(events []history.Event) []string { return toldOf("", events).requests }
