package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/state"
)

// repaired is how a repair went.
type repaired struct {
	tally apply.Tally
	err   error
}

// repair begins to do what is to be done; the hub looks on meanwhile. When ctx ends
// nothing new starts, and what is under way finishes.
func (h *Hub) repair(ctx context.Context, care engine.HubInput) {
	h.acting = true
	if h.cfg.Secret != nil {
		care.Missing = h.missing
	}
	h.work.Go(func() {
		_, tally, err := h.rec.Repair(context.WithoutCancel(ctx), care, ctx.Done())
		h.repaired <- repaired{tally, err}
	})
}

// after takes note of how a repair went. Failures of single sessions are in their
// histories.
func (h *Hub) after(r repaired) {
	now := time.Now()
	for _, res := range r.tally.Results {
		h.log.Info("repaired", "session", res.Address, "action", res.Action, "outcome", res.Outcome, "took", res.Elapsed, "error", errText(res.Err))
	}
	for _, w := range r.tally.Warnings {
		h.log.Warn(w.Summary, "session", w.Address, "detail", w.Detail)
	}
	var locked *state.LockedError
	switch {
	case errors.As(r.err, &locked):
		h.log.Debug("somebody is at work on the state: only looking", "who", locked.Holder.Command, "pid", locked.Holder.PID)
		h.notUntil = now.Add(lockedFor)
	case r.err != nil && len(r.tally.Results) == 0:
		h.log.Error("nothing could be repaired", "error", r.err)
		h.notUntil = now.Add(defaultInterval)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// missing returns why a secret that a start needs is unavailable, or "".
func (h *Hub) missing(c plan.Change, at time.Time) string {
	names := c.After.Secrets
	switch {
	case c.Before != nil && c.Before.Unmade():
		names = slices.Concat(names, c.Before.Inherits)
	case c.Before != nil && h.cfg.Inherited != nil:
		names = slices.Concat(names, h.cfg.Inherited(c.Before.Run.ID))
	}
	for _, name := range names {
		if err := h.secret(name, at); err != nil {
			return fmt.Sprintf("secret %s cannot be had: %s", name, err)
		}
	}
	return ""
}

// answer says whether a secret is available, and when that was asked.
type answer struct {
	err error
	at  time.Time
}

// How long an answer holds: each question may ask a person. A look and the repair
// that follows it share one that grants.
const (
	refusedFor = 50 * time.Second
	grantedFor = 5 * time.Second
)

// secret returns why a secret is unavailable.
func (h *Hub) secret(name string, at time.Time) error {
	h.asking.Lock()
	defer h.asking.Unlock()
	was, asked := h.answers[name]
	if asked && (was.err != nil && at.Sub(was.at) < refusedFor || was.err == nil && at.Sub(was.at) < grantedFor) {
		return was.err
	}
	err := h.cfg.Secret(name)
	h.answers[name] = answer{err, at}
	return err
}
