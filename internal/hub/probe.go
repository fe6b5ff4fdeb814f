package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
)

const probesAtOnce = 8

type prober struct {
	engine *engine.Engine
	agent  func(session.Record) session.Agent
	log    *slog.Logger
	work   *sync.WaitGroup
	done   chan probed
	slots  chan struct{}
}

type probed struct {
	address session.Address
	run     string
	at      time.Time
	outcome health.Probe
	skipped bool // there is no outcome
}

func (x *prober) start(ctx context.Context, s *Snapshot, memories map[session.Address]*memory) {
	for _, k := range s.Sessions {
		r, m := k.Record, memories[k.Record.Address]
		p := r.Spec.Health
		if p.Heartbeat == nil || k.Live == nil || k.Live.Liveness != session.Alive || k.Live.Frozen || k.Live.InputOff || k.Live.Mark.Run != r.Run.ID ||
			m.probing || s.At.Sub(r.Run.StartedAt) < p.StartPeriod.D() || s.At.Sub(m.probedAt) < p.Interval.D() {
			continue
		}
		// Over a dialog, a key could be an answer.
		if p.Heartbeat.Key != "" && !(m.activity.Detection.Activity == session.Idle && x.agent(*r).Ready(m.screen)) {
			continue
		}
		rt, err := x.engine.Opened(s.Lineage, r.Spec.Runtime)
		target, can := rt.(session.Prober)
		if err != nil || !can {
			continue
		}
		m.probing, m.probedAt = true, s.At
		out := probed{address: r.Address, run: r.Run.ID, at: s.At}
		x.work.Go(func() {
			select {
			case x.slots <- struct{}{}:
			case <-ctx.Done():
				out.skipped = true
				x.done <- out
				return
			}
			failed, err := heartbeat(ctx, rt, target, k.Live.Location, r.Run.ID, p)
			<-x.slots
			out.outcome, out.skipped = health.Probe{OK: failed == "", Detail: failed}, err != nil
			if err != nil && !errors.Is(err, session.ErrUnprobeable) && ctx.Err() == nil {
				x.log.Debug("a heartbeat failed", "session", r.Address, "error", err)
			}
			x.done <- out
		})
	}
}

// heartbeat takes one heartbeat. It returns why that failed, or "".
func heartbeat(ctx context.Context, rt session.Runtime, target session.Prober, place session.Location, run string, p session.Health) (failed string, err error) {
	limit := p.Timeout.D()
	if len(p.Heartbeat.Command) > 0 {
		return target.Probe(ctx, place, run, p.Heartbeat.Command, limit)
	}
	if err := rt.Send(ctx, place, session.Input{Key: p.Heartbeat.Key}); err != nil {
		return "", err
	}
	for until := time.Now().Add(limit); ; {
		unread, err := target.Unread(ctx, place, run)
		switch {
		case err != nil || unread == 0:
			return "", err
		case time.Now().After(until):
			return fmt.Sprintf("a key was sent, and %d bytes were not read within %s", unread, limit), nil
		case !sleep.For(ctx, 50*time.Millisecond):
			return "", context.Cause(ctx)
		}
	}
}

func (x probed) note(m *memory) {
	if m == nil {
		return
	}
	m.probing = false
	if m.run == x.run && !x.skipped {
		m.pulse = m.pulse.Beat(x.outcome, x.at)
	}
}
