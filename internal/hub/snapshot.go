package hub

import (
	"context"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Snapshot is what the hub observed in one look, and its plan. It is immutable.
type Snapshot struct {
	At      time.Time // of the look; zero: before the first
	Lineage string
	Serial  uint64 // of the state
	// Sessions are those on record, in the order of addresses.
	Sessions []status.Input
	Plan     plan.Plan // what the hub does and holds
	// Fault says why the state cannot be read. The hub then only observes the sessions
	// that were on record before.
	Fault error

	input engine.HubInput
	again time.Duration // until the next look is needed; 0: the sweep is enough
}

// Of returns what is known of a session on record.
func (s *Snapshot) Of(a session.Address) (status.Input, bool) {
	for _, k := range s.Sessions {
		if k.Record.Address == a {
			return k, true
		}
	}
	return status.Input{}, false
}

// Snapshot returns the last snapshot. It is never nil.
func (h *Hub) Snapshot() *Snapshot { return h.snapshot.Load() }

// Look returns a snapshot taken after the call. The error is that of ctx.
func (h *Hub) Look(ctx context.Context) (*Snapshot, error) {
	done := make(chan struct{})
	select {
	case h.ask <- done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case <-done:
		return h.Snapshot(), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Do starts, restarts, pauses, resumes or stops sessions on behalf of a person. It
// returns what engine.Override does.
func (h *Hub) Do(ctx context.Context, by string, o engine.Override) (plan.Plan, apply.Tally, error) {
	e := h.cfg.Open(by)
	defer e.Close()
	e.Applier.Emit = func(history.Event) { h.Wake() }
	p, tally, err := e.Override(ctx, o, nil)
	h.Wake()
	return p, tally, err
}
