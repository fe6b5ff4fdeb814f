package activity

import (
	"slices"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// means is what one thing that a hook told means; empty: nothing.
func means(a session.Agent, s session.Signal) session.Activity {
	got := a.Detect(session.Evidence{Liveness: session.Alive, Signals: []session.Signal{s}}).Activity
	if got == session.NoActivity {
		return ""
	}
	return got
}

// over reports whether an agent that does this has ended its turn.
func over(a session.Activity) bool {
	return a == session.Idle || a == session.Done || a == session.Failed || a == session.BlockedAPI
}

// settled is what a session file tells, less a last turn of which only the other
// signals know that it goes on. A turn of a run before this one does not.
func settled(n *session.Transcript, reading session.Detection, started time.Time) *session.Transcript {
	if n == nil || !n.Unsettled || over(reading.Activity) || n.TurnAt.Before(started) {
		return n
	}
	open := *n
	open.TurnAt = time.Time{}
	if open.Turns--; open.Turns == 0 {
		open.FirstTurnAt = time.Time{}
	}
	return &open
}

// turnEnd returns when the last turn of the run ended, as hooks or the session file
// say; zero: they do not, or it goes on. While a message of the user waits to be
// taken up, and once it is, the turn before is not the last.
func turnEnd(a session.Agent, n *session.Transcript, signals []session.Signal, started time.Time) time.Time {
	at := turnEndTold(a, n, signals, started)
	if n != nil && (n.Queued > 0 || n.TakenAt.After(at)) {
		return time.Time{}
	}
	return at
}

// turnEndTold returns when the last turn ended that hooks or the session file tell
// of.
func turnEndTold(a session.Agent, n *session.Transcript, signals []session.Signal, started time.Time) time.Time {
	at, begun := turnTold(a, signals)
	if begun.IsZero() && n != nil && n.Turns > 0 && over(n.Activity) && !n.StartedAt.Before(started.Add(-early)) {
		return n.TurnAt // of a conversation that goes on, the file has the turns before, too
	}
	// Lines that follow the end of a turn are no end: Codex writes its settings down
	// before it takes up the next prompt.
	if n != nil && over(n.Activity) && n.TurnAt.After(begun) && at.IsZero() {
		return n.TurnAt // no hook tells of an interruption
	}
	return at
}

// early is how much earlier than its run a session file may say that it was begun.
const early = 2 * time.Second

// turnTold is when the last turn ended that hooks told of, and when it was last
// seen at work: that an agent rests before it has worked is no turn.
func turnTold(a session.Agent, signals []session.Signal) (ended, worked time.Time) {
	for _, s := range slices.Backward(signals) {
		switch m := means(a, s); {
		case over(m):
			ended = s.At
		case m != "":
			return ended, s.At
		}
	}
	return time.Time{}, time.Time{}
}

// firstTurn is when the session's first turn ended: as its file says, as its hooks
// told, or, of an agent that has neither, when it was seen to rest after work.
func (r *Reader) firstTurn(a session.Agent, rec session.Record, x Look, signals []session.Signal, now time.Time) time.Time {
	if n := x.Transcript; n != nil && !n.FirstTurnAt.IsZero() {
		return n.FirstTurnAt
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.run(rec.Run.ID)
	if !s.first.IsZero() {
		return s.first
	}
	worked := false // as the hooks tell: that an agent rests before it has worked is no turn
	for _, signal := range signals {
		switch m := means(a, signal); {
		case m == session.Working || m == session.Blocked:
			worked = true
		case over(m) && worked:
			s.first = signal.At
			return s.first
		}
	}
	if x.Transcript != nil {
		return s.first // it would tell
	}
	switch does := x.Detection.Activity; {
	case does == session.Working:
		s.worked = true
	case s.worked && (does == session.Idle || does == session.Done) && does == s.before:
		s.first = now
	}
	s.before = x.Detection.Activity
	return s.first
}

// observable reports whether the agent's own session file is there or has to be:
// before that, its absence says nothing.
func observable(rec session.Record, x Look, given time.Time) bool {
	if rec.Run.ID == "" {
		return false
	}
	if x.Transcript != nil || !x.FirstTurnAt.IsZero() {
		return true
	}
	switch rec.Spec.Agent.Observable {
	case agent.AtFirstPrompt:
		return !given.IsZero()
	case agent.AfterFirstTurn:
		return false
	}
	return true
}

// Overdue reports whether a session was given something and could not be observed
// for longer than it may, whether its agent lives or not. Past reads its history,
// which is done last: most have a file.
func (r *Reader) Overdue(rec session.Record, past func() []history.Event, now time.Time) bool {
	a := r.Agent(rec)
	if !keeps(rec, a) || r.files.Present(a, r.Lookup(rec)) {
		return false
	}
	events := past()
	x := Look{FirstTurnAt: FirstTurnAt(rec, events)}
	given, _ := Given(rec, events)
	return overdue(rec, a, x, given, now)
}

// keeps reports whether an agent has a file to be observed by, or its first turn.
func keeps(rec session.Record, a session.Agent) bool {
	return len(a.Files(session.Lookup{Home: "/", Dir: "/"})) > 0 || rec.Spec.Agent.Observable == agent.AfterFirstTurn
}

// overdue reports whether an agent that was given something, and keeps a session
// file, has not had one for longer than it may.
func overdue(rec session.Record, a session.Agent, x Look, given, now time.Time) bool {
	limit := rec.Spec.Agent.UnobservedFor.D()
	if limit <= 0 || given.IsZero() || x.Transcript != nil || !x.FirstTurnAt.IsZero() || !keeps(rec, a) {
		return false
	}
	since := given
	if rec.Run.StartedAt.After(since) {
		since = rec.Run.StartedAt
	}
	return now.Sub(since) > limit
}
