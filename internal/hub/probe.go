package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// probesAtOnce is how many heartbeats are taken at a time.
const probesAtOnce = 8

// probed is the outcome of a probe.
type probed struct {
	address session.Address
	run     string
	at      time.Time
	outcome health.Probe
	skipped bool // nothing was found out
}

// probe begins the heartbeats that are due.
func (h *Hub) probe(ctx context.Context, s *Snapshot) {
	for _, k := range s.Sessions {
		r, m := k.Record, h.memory[k.Record.Address]
		p := r.Spec.Health
		if p.Heartbeat == nil || k.Live == nil || k.Live.Vital != session.Alive || k.Live.Frozen || k.Live.InputOff || k.Live.Mark.Run != r.Run.ID ||
			m.probing || s.At.Sub(r.Run.StartedAt) < p.StartPeriod.D() || s.At.Sub(m.probedAt) < p.Interval.D() {
			continue
		}
		if p.Heartbeat.Key != "" && !h.typeable(k, m) {
			continue
		}
		rt, err := h.rec.Opened(s.Lineage, r.Spec.Runtime)
		prober, can := rt.(session.Prober)
		if err != nil || !can {
			continue
		}
		m.probing, m.probedAt = true, s.At
		x := probed{address: r.Address, run: r.Run.ID, at: s.At}
		h.work.Go(func() {
			select {
			case h.probes <- struct{}{}:
				defer func() { <-h.probes }()
			case <-ctx.Done():
				x.skipped = true
				h.probed <- x
				return
			}
			failed, err := heartbeat(ctx, rt, prober, k.Live.Place, r.Run.ID, p)
			x.outcome = health.Probe{OK: failed == "", Detail: failed}
			x.skipped = err != nil
			if err != nil && !errors.Is(err, session.ErrUnprobeable) && ctx.Err() == nil {
				h.log.Debug("a heartbeat could not be taken", "session", r.Address, "error", err)
			}
			h.probed <- x
		})
	}
}

// heartbeat takes one.
func heartbeat(ctx context.Context, rt session.Runtime, prober session.Prober, place session.Place, run string, p session.Health) (failed string, err error) {
	limit := p.Timeout.D()
	if len(p.Heartbeat.Command) > 0 {
		return prober.Probe(ctx, place, run, p.Heartbeat.Command, limit)
	}
	if err := rt.Send(ctx, place, session.Input{Key: p.Heartbeat.Key}); err != nil {
		return "", err
	}
	for until := time.Now().Add(limit); ; {
		unread, err := prober.Unread(ctx, place, run)
		switch {
		case err != nil || unread == 0:
			return "", err
		case time.Now().After(until):
			return fmt.Sprintf("a key was typed, and %d bytes were not read within %s", unread, limit), nil
		case !sleep(ctx, 50*time.Millisecond):
			return "", context.Cause(ctx)
		}
	}
}

// typeable reports whether a key may be typed into a session: only where its agent
// rests before an empty composer. Over a dialog it could be an answer.
func (h *Hub) typeable(k status.Input, m *memory) bool {
	return m.look.Detection.Activity == session.Idle && h.cfg.Activity.Agent(*k.Record).Ready(m.screen)
}

// beat notes the outcome of a probe.
func (h *Hub) beat(x probed) {
	m := h.memory[x.address]
	if m == nil {
		return
	}
	m.probing = false
	if m.run == x.run && !x.skipped {
		m.pulse = m.pulse.Beat(x.outcome, x.at)
	}
}
