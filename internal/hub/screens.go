package hub

import (
	"context"
	"time"

	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/session"
)

// outputPrecision bounds the error of the time of a session's last output, which tmux
// gives in whole seconds. Output may have followed a screen that was read within it.
const outputPrecision = 1100 * time.Millisecond

// readScreens reads the screens of the sessions that have written to them since they were
// last read.
func (o *observer) readScreens(ctx context.Context, s engine.Observation) {
	type wanted struct {
		runtime  session.Runtime
		memories map[session.Location]*memory
	}
	by := map[string]*wanted{}
	for i := range s.Sessions {
		x := &s.Sessions[i]
		m := o.memory[x.Record.Address]
		if l := x.Live; l == nil || l.Screen != "" || !l.MovedAt.IsZero() && l.MovedAt.Equal(m.movedAt) && m.shownAt.Sub(l.MovedAt) > outputPrecision {
			continue
		}
		spec := x.Record.Spec.Runtime
		if p := x.Live.Location; p.Traits().Server != "" { // where it is, whatever its spec says
			spec = session.RuntimeSpec{Kind: p.Runtime}
		}
		key := spec.Key()
		if by[key] == nil {
			rt, err := o.engine.Opened(s.State.Lineage, spec)
			if err != nil {
				o.log.Debug("a screen cannot be shown", "session", x.Record.Address, "error", err)
				continue
			}
			by[key] = &wanted{rt, map[session.Location]*memory{}}
		}
		by[key].memories[x.Live.Location] = m
	}
	for _, w := range by {
		for place, screen := range o.capture(ctx, w.runtime, w.memories) {
			m := w.memories[place]
			m.shownAt = s.World.At
			if screen != m.screen {
				m.screen, m.redrawn = screen, true
			}
		}
	}
}

// capture returns the screens of some places of a runtime.
func (o *observer) capture(ctx context.Context, rt session.Runtime, places map[session.Location]*memory) map[session.Location]string {
	list := make([]session.Location, 0, len(places))
	for p := range places {
		list = append(list, p)
	}
	if s, can := rt.(session.ScreenReader); can {
		shown, err := s.Screens(ctx, list)
		if err != nil {
			o.log.Debug("screens cannot be shown", "error", err)
		}
		return shown
	}
	lives, err := rt.Observe(ctx, true)
	if err != nil {
		o.log.Debug("screens cannot be shown", "error", err)
	}
	shown := map[session.Location]string{}
	for _, l := range lives {
		if places[l.Location] != nil && l.PlaceUp {
			shown[l.Location] = l.Screen
		}
	}
	return shown
}
