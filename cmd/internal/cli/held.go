package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

const heldWait = 500 * time.Millisecond

type heldStarts struct {
	observer *observer
	r        *engine.Engine
	q        engine.Request
	emit     func(history.Event)
	tally    apply.Tally
	left     []session.Address
	errs     []error
}

// follow leaves sessions that wait for max_running: the agents before them may run for days.
func (h *heldStarts) follow(ctx context.Context, drain <-chan struct{}) (apply.Tally, error) {
	for _, res := range h.tally.Results {
		if res.Outcome == apply.Held {
			h.left = append(h.left, res.Address)
		}
	}
	if len(h.left) == 0 {
		return h.tally, nil
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-drain:
			cancel()
		case <-waiting.Done():
		}
	}()
	for s, err := range follow.Looks(waiting, heldWait, nil, h.observer.observe) {
		if err != nil {
			return h.tally, errors.Join(append(h.errs, err)...)
		}
		if due := h.see(s); len(due) > 0 {
			if err := h.start(ctx, due, drain); err != nil {
				return h.tally, errors.Join(append(h.errs, err)...)
			}
		}
		if len(h.left) == 0 {
			return h.tally, errors.Join(h.errs...)
		}
	}
	return h.tally, errors.Join(append(h.errs, apply.ErrInterrupted)...)
}

// see returns the sessions that can start now and that no hub starts.
func (h *heldStarts) see(s *snapshot) (due []session.Address) {
	for _, a := range slices.Clone(h.left) {
		k, c := s.of(a), s.forecasts[a]
		switch {
		case k.Record == nil:
			h.drop(a)
		case k.Record.Intent != session.Queued: // the hub or another apply started it
			h.drop(a)
			h.tally.Held--
			h.tally.Done++
			h.emit(history.Event{Time: s.World.At, Kind: history.ApplyComplete, Address: a, ID: k.Record.ID, Run: k.Record.Run.ID, Action: string(plan.Create)})
		case c.Skips:
			h.skip(s, a, c.Detail)
		case c.Action == plan.Hold && c.Reason == plan.ReasonQueued:
			h.drop(a)
		case c.Action.Acts() && !s.supervised:
			due = append(due, a)
		case !s.supervised:
			if on, ended := s.abandoned(k.Record.Spec); ended {
				h.skip(s, a, fmt.Sprintf("depends on %s, which is not running, and no hub restarts it", on))
			}
		}
	}
	return due
}

func (s *snapshot) abandoned(spec session.Spec) (session.Address, bool) {
	for _, on := range spec.DependsOn {
		d := s.of(on).Diagnosis
		if gone := d.State == session.StateStale || d.State == session.StateError; gone && (s.forecasts[on].Action == plan.Restart || s.forecasts[on].Reason == plan.ReasonBackingOff) {
			return on, true
		}
	}
	return "", false
}

func (h *heldStarts) drop(a session.Address) {
	h.left = slices.DeleteFunc(h.left, func(b session.Address) bool { return a == b })
}

func (h *heldStarts) skip(s *snapshot, a session.Address, why string) {
	h.drop(a)
	h.tally.Held--
	h.tally.Skipped++
	h.errs = append(h.errs, fmt.Errorf("%s was not started: it %s", a, why))
	h.emit(history.Event{Time: s.World.At, Kind: history.ApplySkipped, Address: a, Action: string(plan.Create), Detail: why})
}

func (h *heldStarts) start(ctx context.Context, due []session.Address, drain <-chan struct{}) error {
	p, err := h.r.Plan(ctx, h.q)
	if err != nil {
		return err
	}
	acts := false
	for i := range p.Changes {
		c := &p.Changes[i]
		if !slices.Contains(due, c.Address) || c.Action == plan.Hold {
			c.Action, c.Then = plan.None, ""
		}
		acts = acts || c.Action.Acts()
	}
	if !acts {
		return nil
	}
	tally, err := h.r.Apply(ctx, h.q, p, drain)
	var changed *engine.ChangedError
	if errors.As(err, &changed) {
		return nil // the next look shows what it is now
	}
	for _, res := range tally.Results {
		h.drop(res.Address)
		h.tally.Held--
		switch res.Outcome {
		case apply.Done:
			h.tally.Done++
		case apply.Failed:
			h.tally.Failed++
		case apply.Skipped:
			h.tally.Skipped++
		}
	}
	return err
}
