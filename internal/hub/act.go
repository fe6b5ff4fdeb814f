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
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// repaired is how a repair went.
type repaired struct {
	tally apply.Tally
	err   error
}

// repair begins to do what is to be done; the hub looks on meanwhile. When ctx ends
// nothing new starts, and what is under way finishes.
func (h *Hub) repair(ctx context.Context, care engine.Care) {
	h.acting = true
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

// lacking asks whether the secrets of what is to be started can be had, and says in
// care which cannot. It reports whether there are any.
func (h *Hub) lacking(s engine.Survey, care *engine.Care) bool {
	if h.cfg.Secret == nil || h.acting {
		return false
	}
	missing := map[session.Address]string{}
	for _, c := range s.Plan.Changes {
		if c.After == nil || !slices.Contains([]plan.Action{plan.Restart, plan.Create}, c.Action) {
			continue
		}
		names := c.After.Secrets
		switch {
		case c.Before != nil && c.Before.Unmade():
			names = slices.Concat(names, c.Before.Inherits)
		case c.Before != nil && h.cfg.Inherited != nil:
			names = slices.Concat(names, h.cfg.Inherited(c.Before.Run.ID))
		}
		for _, name := range names {
			if err := h.secret(name, s.World.At); err != nil {
				missing[c.Address] = fmt.Sprintf("secret %s cannot be had: %s", name, err)
			}
		}
	}
	care.Lacking = missing
	return len(missing) > 0
}

// refusal is why a secret could not be had, and when.
type refusal struct {
	err error
	at  time.Time
}

// secretAgain is how long a source that gave no secret is left alone: it may ask a
// person each time.
const secretAgain = 50 * time.Second

// secret says why a secret cannot be had.
func (h *Hub) secret(name string, at time.Time) error {
	if was, refused := h.refused[name]; refused && at.Sub(was.at) < secretAgain {
		return was.err
	}
	delete(h.refused, name)
	err := h.cfg.Secret(name)
	if err != nil {
		h.refused[name] = refusal{err, at}
	}
	return err
}
