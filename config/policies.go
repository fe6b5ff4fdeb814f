package config

import (
	"math"

	"github.com/agentform/agentform/session"
)

// restart reads a restart block over what stands in r.
func (d decoder) restart(b *block, r *session.Restart) {
	d.oneOf(b, "policy", &r.Policy, "never", "on-failure", "always")
	d.whole(b, "attempts", 0, &r.Attempts)
	d.duration(b, "window", 1, &r.Window)
	d.whole(b, "escalate_after", 0, &r.EscalateAfter)
	d.flag(b, "resume", &r.Resume)

	back := b.block("backoff")
	d.duration(back, "initial", 0, &r.Backoff.Initial)
	d.decimal(back, "factor", 1, math.Inf(1), &r.Backoff.Factor)
	d.duration(back, "max", 0, &r.Backoff.Max)
	d.decimal(back, "jitter", 0, 1, &r.Backoff.Jitter)
	d.duration(back, "reset_after", 0, &r.Backoff.ResetAfter)
	if a := back.attr("max"); a != nil && r.Backoff.Max < r.Backoff.Initial {
		d.fail(a, "Invalid backoff", "The longest wait, %s, is shorter than the first, %s.", brief(r.Backoff.Max), brief(r.Backoff.Initial))
	}
}

// health reads a health block over what stands in h.
func (d decoder) health(b *block, h *session.Health) {
	d.duration(b, "interval", 1, &h.Interval)
	d.duration(b, "timeout", 1, &h.Timeout)
	d.duration(b, "start_period", 0, &h.StartPeriod)
	d.whole(b, "failures", 1, &h.Failures)
	d.duration(b, "hung_after", 0, &h.HungAfter)
	d.oneOf(b, "on_unhealthy", &h.OnUnhealthy, "restart", "escalate", "ignore")

	beat := b.block("heartbeat")
	if beat == nil {
		return
	}
	if a := beat.attr("key"); a != nil && d.l.notYet(a.rng, "heartbeat.key") {
		return
	}
	var command []string
	if d.command(beat, "command", &command) {
		h.Heartbeat = &session.Heartbeat{Command: command}
	} else if d.missing(beat, "command") {
		d.failAt(beat.def, "Missing command", `A heartbeat needs a command that fails when the session is not well: command = ["test", "-e", "ALIVE"].`)
	}
}

// stop reads a stop block over what stands in s.
func (d decoder) stop(b *block, s *session.Stop) {
	d.signal(b, "signal", &s.Signal)
	d.duration(b, "grace", 0, &s.Grace)
	d.duration(b, "after_turn", 0, &s.AfterTurn)
}
