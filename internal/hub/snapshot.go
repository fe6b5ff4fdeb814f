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

// Snapshot is what the hub saw in one look, and what it is to do about it. It is
// never changed: it may be read by many.
type Snapshot struct {
	At      time.Time // of the look; zero: none is over yet
	Lineage string
	Serial  uint64 // of the state
	// Sessions are those on record, in the order of addresses; status.Of makes
	// what is shown of each.
	Sessions []status.Input
	Plan     plan.Plan // what the hub does and holds
	// Fault is why the hub only looks: the state cannot be read, or is in a newer
	// format; nil: it repairs. Sessions is then what it knew before.
	Fault error

	input engine.HubInput
	again time.Duration // look again so soon; 0: nothing asks for it
}

// Of is what is known of one session; false: it is not on record.
func (s *Snapshot) Of(a session.Address) (status.Input, bool) {
	for _, k := range s.Sessions {
		if k.Record.Address == a {
			return k, true
		}
	}
	return status.Input{}, false
}

// Snapshot is the last look, never nil.
func (h *Hub) Snapshot() *Snapshot { return h.snapshot.Load() }

// Look is a look that begins after the call. The error is that of ctx.
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

// Do carries out what a person tells sessions by hand (start, restart, pause,
// resume, stop), in the person's name. It waits for the state's lock as long as the
// reconciler of Config.Open says. It returns what Reconciler.Override does.
func (h *Hub) Do(ctx context.Context, by string, hand engine.Override) (plan.Plan, apply.Tally, error) {
	r := h.cfg.Open(by)
	defer r.Close()
	r.Applier.Emit = func(history.Event) { h.Wake() }
	p, tally, err := r.Override(ctx, hand, nil)
	h.Wake()
	return p, tally, err
}
