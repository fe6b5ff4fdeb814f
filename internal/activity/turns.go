package activity

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// means returns the activity of a hook event, or session.NoActivity.
func means(a session.Agent, s session.Signal) session.Activity {
	return a.Detect(session.Evidence{Liveness: session.Alive, Signals: []session.Signal{s}}).Activity
}

func over(a session.Activity) bool {
	return a == session.Idle || a == session.Done || a == session.Failed || a == session.BlockedAPI
}

// settled returns the transcript without a last turn that other signals show as open.
func settled(n *session.Transcript, detection session.Detection, started time.Time) *session.Transcript {
	if n == nil || !n.Unsettled || over(detection.Activity) || n.TurnAt.Before(started) {
		return n
	}
	open := *n
	open.TurnAt = time.Time{}
	if open.Turns--; open.FirstTurnAt.Equal(n.TurnAt) {
		open.FirstTurnAt = time.Time{}
	}
	return &open
}

// turnEnd returns when the last turn ended by hooks or session file; zero: unknown, or it is open,
// or a message is queued.
func turnEnd(a session.Agent, n *session.Transcript, signals []session.Signal, started time.Time) time.Time {
	at, begun := hookTurn(a, signals)
	if n == nil {
		return at
	}
	// The file of a resumed conversation has earlier turns.
	own := begun.IsZero() && n.Turns > 0 && !n.StartedAt.Before(started.Add(-early))
	// No hook reports an interruption. Lines after the end of a turn do not end one: Codex writes
	// its settings before it works on the next prompt.
	if over(n.Activity) && (own || n.TurnAt.After(begun) && at.IsZero()) {
		at = n.TurnAt
	}
	if len(n.Queued) > 0 || n.TakenAt.After(at) {
		return time.Time{}
	}
	return at
}

// early is how much earlier than its run a session file may have started by its own time.
const early = 2 * time.Second

// hookTurn returns when the last turn ended that hooks report, and when they last reported work.
// Idleness before any work is not a turn.
func hookTurn(a session.Agent, signals []session.Signal) (ended, worked time.Time) {
	for _, s := range slices.Backward(signals) {
		switch m := means(a, s); {
		case over(m):
			ended = s.At
		case m != session.NoActivity:
			return ended, s.At
		}
	}
	return time.Time{}, time.Time{}
}

// firstTurn returns when the first turn ended by file, hooks, or idleness after work.
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
	worked := false // as the hooks report
	for _, signal := range signals {
		switch m := means(a, signal); {
		case m == session.Working || m == session.Blocked:
			worked = true
		case (m == session.Idle || m == session.Done) && worked:
			s.first = signal.At
			return s.first
		}
	}
	if x.Transcript != nil {
		return s.first // the file would have it
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

// observable reports whether the agent's session file exists or should.
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

// Overdue reports whether something was sent to a session, alive or not, that has been unobserved
// for too long. It calls past last, since most sessions have a file.
func (r *Reader) Overdue(rec session.Record, past func() []history.Event, now time.Time) bool {
	a := r.Agent(rec)
	if !keeps(rec, a) || r.files.Present(a, r.Lookup(rec)) {
		return false
	}
	events := past()
	given, _ := Given(rec, events)
	return overdue(rec, a, Look{FirstTurnAt: FirstTurnAt(rec, events)}, given, now)
}

// keeps reports whether an agent can be observed by a file or by its first turn.
func keeps(rec session.Record, a session.Agent) bool {
	return HasFiles(a) || rec.Spec.Agent.Observable == agent.AfterFirstTurn
}

// HasFiles reports whether an agent keeps session files.
func HasFiles(a session.Agent) bool { return len(a.Files(session.Lookup{Home: "/", Dir: "/"})) > 0 }

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

// TurnLook returns the facts of one look about an agent's turn. moved is its last output.
func TurnLook(rec session.Record, x Look, alive bool, moved time.Time, past []history.Event, now time.Time) turn.Look {
	does := cmp.Or(x.Activity, x.Detection.Activity)
	if does == session.Unobserved {
		does = x.Detection.Activity // its screen shows whether it rests
	}
	given, queued := Given(rec, past)
	return turn.Look{
		At: now, Run: rec.Run.ID, Activity: does, Alive: alive, OneShot: rec.Spec.Agent.OneShot, Screen: x.Detection.Source == agent.FromScreen,
		Prompt: x.Prompt && rec.Spec.Agent.Ready != "", // without a pattern any screen counts
		Given:  given, Queued: queued, Moved: moved, TurnAt: x.TurnAt, Answer: x.Answer,
	}
}

// DoingOf returns what an agent does according to all looks, of which x is the last, and whether a
// turn has ended since its prompt, in this run or one whose conversation it resumed.
func DoingOf(course *turn.Course, rec session.Record, x Look, past []history.Event) session.Doing {
	given, _ := Given(rec, past)
	prompted := rec.Run.DeliveredAt
	ended := func(e history.Event) bool {
		return e.Kind == history.FirstTurnDone && (e.Run == rec.Run.ID || !prompted.IsZero() && e.Time.After(prompted))
	}
	at := EndedAt(course, rec, x)
	if x.Transcript != nil && x.Transcript.Interrupted {
		at = time.Time{}
	}
	return session.Doing{Run: rec.Run.ID, Activity: x.Activity, Since: given, Starting: x.Starting, Ended: at, Interrupted: Interrupted(x.Activity, past) != nil,
		Turn: !x.FirstTurnAt.IsZero() || !at.IsZero() || slices.ContainsFunc(past, ended)}
}

// Interrupted returns the event with which the turn of the last input was cut off, if the agent, which
// does that, rests since; nil: it was not.
func Interrupted(does session.Activity, past []history.Event) *history.Event {
	switch does {
	case session.Working, session.Blocked, session.BlockedAPI, session.Done, session.Failed:
		return nil
	}
	for i := range slices.Backward(past) {
		switch e := &past[i]; {
		case e.Kind == history.TurnInterrupted:
			return e
		case e.Kind == history.PromptDelivered, e.Kind == history.FirstTurnDone, e.Kind == history.TurnEnded, e.Kind == history.Sent && !Pressed(*e):
			return nil
		}
	}
	return nil
}

// EndedAt returns when the turn of the last input ended, also by an interruption of a person; zero: it has
// not. An agent that resumed a conversation has ended the turn of an earlier run only if it reports that
// itself: the run may have been cut off.
func EndedAt(course *turn.Course, rec session.Record, x Look) time.Time {
	if at := course.EndedAt(); !at.Before(rec.Run.StartedAt) || at.Equal(x.TurnAt) {
		return at
	}
	return time.Time{}
}

// started reports whether the run's agent has been ready for a prompt.
func (r *Reader) started(a session.Agent, rec session.Record, x Look, e session.Evidence) bool {
	if !rec.Run.ReadyAt.IsZero() || turned(rec, x) {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.run(rec.Run.ID)
	s.ready = s.ready || SeenReady(a, rec, x, e.Screen) || x.Detection.Activity == session.Idle && !young(rec, e.Now)
	return s.ready
}

// turned reports whether a turn has ended in this run. The file of a resumed conversation also has
// earlier turns.
func turned(rec session.Record, x Look) bool {
	return x.FirstTurnAt.After(rec.Run.StartedAt) || x.TurnAt.After(rec.Run.StartedAt)
}

// SeenReady reports whether one look shows that the agent has been ready for a prompt in this run:
// by its screen, by work, or, with a prompt on its command line, by hooks or session file. A
// question that only its screen or title shows may come before that.
func SeenReady(a session.Agent, rec session.Record, x Look, screen string) bool {
	if x.Detection.Activity == session.Working || screen != "" && a.Ready(screen) {
		return true
	}
	switch x.Detection.Activity {
	case session.Blocked, session.BlockedAPI, session.Idle, session.Done:
		if rec.Run.DeliveredAt.IsZero() {
			return false
		}
		if x.Detection.Source == agent.FromTranscript || x.Detection.Source == agent.FromHook {
			return true
		}
		// A resumed conversation also has the prompts of earlier runs.
		n, resumed := x.Transcript, rec.Run.DeliveredAt.Before(rec.Run.StartedAt)
		return !resumed && n != nil && n.Begun() && !n.At.Before(rec.Run.StartedAt)
	}
	return false
}

// young reports whether the agent may still be starting.
func young(rec session.Record, now time.Time) bool {
	return now.Sub(rec.Run.StartedAt) < rec.Spec.Agent.ReadyTimeout.D()
}
