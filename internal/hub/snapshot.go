package hub

import (
	"context"
	"fmt"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/budget"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/input"
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
	Budgets  []budget.Standing
	// Fault says why the state cannot be read. The sessions are those on record before.
	Fault error

	input  engine.HubInput
	judged bool          // budgets order other than what is recorded
	again  time.Duration // until the next look is needed; 0: the sweep is enough
}

// lookAgain asks for the next look after d at most.
func (s *Snapshot) lookAgain(d time.Duration) {
	if s.again == 0 || d < s.again {
		s.again = d
	}
}

// does returns what the agent of a session did at the look, and whether that was seen.
func (s *Snapshot) does(a session.Address) (session.Doing, bool) {
	k, there := s.Of(a)
	if !there || k.Record == nil || k.Look == nil {
		return session.Doing{}, false
	}
	return k.Doing(), true
}

// Records returns the records of the sessions.
func (s *Snapshot) Records() []session.Record {
	all := make([]session.Record, len(s.Sessions))
	for i, k := range s.Sessions {
		all[i] = *k.Record
	}
	return all
}

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

// Look returns a snapshot taken after the call.
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

// Do does what a person wants of sessions. It returns what engine.Override does.
func (h *Hub) Do(ctx context.Context, by string, o engine.Override) (plan.Plan, apply.Tally, error) {
	e := h.cfg.Open(by)
	defer e.Close()
	e.Applier.Emit = h.changed
	p, tally, err := e.Override(ctx, o, nil)
	h.Wake()
	return p, tally, err
}

// Send types into a session on behalf of a person. Its history records that, but not the
// text. The error is one of input.Sender.Send, session.ErrGone, ErrRefused while the
// session is paused, or a *engine.UnknownError.
func (h *Hub) Send(ctx context.Context, by string, a session.Address, in session.Input) (input.Outcome, error) {
	k, rt, err := h.openLive(a)
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", a, err)
	}
	outcome, sent, err := h.cfg.Activity.Send(ctx, rt, *k.Record, *k.Live, in, false, h.log)
	h.Wake()
	if err != nil {
		return outcome, fmt.Errorf("send to %s: %w", a, err)
	}
	sent.By = by
	return outcome, history.Append(h.engine.Applier.Folder(*k.Record), sent)
}

// Answer answers the question of a session's agent on behalf of a person. Its history
// records that, but not a text. The errors are those of input.Sender.Answer and of Send.
func (h *Hub) Answer(ctx context.Context, by string, a session.Address, r input.Reply) (input.Answered, error) {
	k, rt, err := h.openLive(a)
	if err != nil {
		return input.Answered{}, fmt.Errorf("answer %s: %w", a, err)
	}
	done, sent, err := h.cfg.Activity.Answer(ctx, rt, *k.Record, *k.Live, r, h.log)
	h.Wake()
	if err != nil {
		return done, fmt.Errorf("answer %s: %w", a, err)
	}
	sent.By = by
	return done, history.Append(h.engine.Applier.Folder(*k.Record), sent)
}

// Capture returns the last lines of a session's screen and its scrollback.
func (h *Hub) Capture(ctx context.Context, a session.Address, lines int) (string, error) {
	k, rt, err := h.open(a)
	if err != nil {
		return "", err
	}
	place := k.Record.Location
	if k.Live != nil {
		place = k.Live.Location
	}
	return rt.Capture(ctx, place, lines)
}

// Attach returns the command that attaches a terminal to a session. The error is
// session.ErrGone if its agent does not run, ErrRefused while the session is paused, or a
// *engine.UnknownError.
func (h *Hub) Attach(a session.Address) ([]string, error) {
	k, rt, err := h.openLive(a)
	if err == nil && k.Diagnosis.State == session.StatePaused {
		err = session.ErrRefused
	}
	if err != nil {
		return nil, fmt.Errorf("attach to %s: %w", a, err)
	}
	return rt.Attach(k.Live.Location), nil
}

func (h *Hub) openLive(a session.Address) (status.Input, session.Runtime, error) {
	k, rt, err := h.open(a)
	if err == nil && (k.Live == nil || k.Live.Liveness != session.Alive) {
		err = fmt.Errorf("its agent %w", session.ErrGone)
	}
	return k, rt, err
}

func (h *Hub) open(a session.Address) (status.Input, session.Runtime, error) {
	s := h.Snapshot()
	k, ok := s.Of(a)
	if !ok {
		return k, nil, &engine.UnknownError{Address: a}
	}
	rt, err := h.engine.Opened(s.Lineage, k.Record.Spec.Runtime)
	return k, rt, err
}
