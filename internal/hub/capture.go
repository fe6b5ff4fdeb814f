package hub

import (
	"context"

	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/session"
)

// Capture returns the last lines of a session's screen and of what scrolled off it.
func (h *Hub) Capture(ctx context.Context, a session.Address, lines int) (string, error) {
	s := h.Snapshot()
	k, ok := s.Of(a)
	if !ok {
		return "", &engine.UnknownError{Address: a}
	}
	place := k.Record.Location
	if k.Live != nil {
		place = k.Live.Location
	}
	rt, err := h.engine.Opened(s.Lineage, k.Record.Spec.Runtime)
	if err != nil {
		return "", err
	}
	return rt.Capture(ctx, place, lines)
}
