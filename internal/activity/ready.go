package activity

import (
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/session"
)

// started reports whether the run's agent has been ready for a prompt: by record,
// history or this look. The result is cached.
func (r *Reader) started(a session.Agent, rec session.Record, x Look, e session.Evidence) bool {
	if !rec.Run.ReadyAt.IsZero() || !x.FirstTurnAt.IsZero() {
		return true
	}
	r.mu.Lock()
	s := r.run(rec.Run.ID)
	known := s.ready
	r.mu.Unlock()
	if known || !SeenReady(a, rec, x, e.Screen) && (x.Detection.Activity != session.Idle || young(rec, e.Now)) {
		return known
	}
	r.mu.Lock()
	s.ready = true
	r.mu.Unlock()
	return true
}

// SeenReady reports whether one look shows that the agent has been ready for a prompt in
// this run: its screen shows it, it works, or its own signals tell that it is at what its
// command line gave it. Then it may ask something for longer than any wait. A question
// that only its screen or title shows could be one before it begins.
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
		// In a conversation that goes on, the prompts are of the runs before, too.
		n, resumed := x.Transcript, rec.Run.DeliveredAt.Before(rec.Run.StartedAt)
		return !resumed && n != nil && n.Begun() && !n.At.Before(rec.Run.StartedAt)
	}
	return false
}

// patternless reports whether an agent shows nothing but that it lives, so that it
// is ready then.
func patternless(a session.AgentSpec) bool { return a.Base == "" && a.Ready == "" }

// young reports whether the agent may still be starting.
func young(rec session.Record, now time.Time) bool {
	limit := rec.Spec.Agent.ReadyTimeout.D()
	return now.Sub(rec.Run.StartedAt) < limit
}
