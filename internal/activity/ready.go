package activity

import (
	"time"

	"github.com/agentform/agentform/session"
)

// started reports whether the run's agent has come so far that it takes a prompt: it
// is on record or in the history, or this look shows it. What was seen once is kept.
func (r *Reader) started(a session.Agent, rec session.Record, x Look, e session.Evidence) bool {
	if !rec.Run.ReadyAt.IsZero() || !x.FirstTurnAt.IsZero() {
		return true
	}
	r.mu.Lock()
	s := r.run(rec.Run.ID)
	known := s.ready
	r.mu.Unlock()
	if known || !SeenReady(a, rec, x, e.Screen) && (x.Reading.Activity != session.Idle || young(rec, e.Now)) {
		return known
	}
	r.mu.Lock()
	s.ready = true
	r.mu.Unlock()
	return true
}

// SeenReady reports whether one look shows that the agent has been ready for a prompt
// in this run.
func SeenReady(a session.Agent, rec session.Record, x Look, screen string) bool {
	seen := x.Reading
	seen.Native = x.Native
	return session.SeenReady(a, rec, seen, screen)
}

// patternless reports whether being alive is all that can be seen of an agent, so that
// it is ready when it lives.
func patternless(a session.AgentSpec) bool { return a.Base == "" && a.Ready == "" }

// young reports whether a run has had less time than its agent may take to be ready.
func young(rec session.Record, now time.Time) bool {
	limit := rec.Spec.Agent.ReadyTimeout.D()
	return now.Sub(rec.Run.StartedAt) < limit
}
