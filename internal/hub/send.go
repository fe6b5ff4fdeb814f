package hub

import (
	"context"
	"fmt"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/session"
)

// Send types into a session in a person's name, and keeps in its history that it was
// done, not what. Of a text that is submitted it is seen that the agent took it: the
// errors are those of input.Sender.Send. Else the error is session.ErrGone if the
// agent does not live, ErrRefused while it is paused, and a *engine.UnknownError if
// the session is not on record.
func (h *Hub) Send(ctx context.Context, by string, a session.Address, in session.Input) (input.Outcome, error) {
	s := h.Snapshot()
	k, ok := s.Of(a)
	if !ok {
		return "", &engine.UnknownError{Address: a}
	}
	if k.Live == nil || k.Live.Vital != session.Alive {
		return "", fmt.Errorf("send to %s: its agent %w", a, session.ErrGone)
	}
	rt, err := h.engine.Opened(s.Lineage, k.Record.Spec.Runtime)
	if err != nil {
		return "", err
	}
	at := time.Now()
	outcome, err := h.give(ctx, rt, *k.Record, *k.Live, in)
	h.Wake()
	if err != nil {
		return outcome, fmt.Errorf("send to %s: %w", a, err)
	}
	detail, reason := fmt.Sprintf("%d bytes", len(in.Text)), "" // what was sent may hold anything
	if in.Key != "" {
		detail = "key " + in.Key
	}
	if outcome == input.Queued {
		reason = history.Queued
	}
	return outcome, history.Open(h.engine.Applier.Folder(*k.Record)).Append(history.Event{Time: at, Address: a, ID: k.Record.ID,
		Run: k.Record.Run.ID, Kind: history.Sent, By: by, Reason: reason, Detail: detail})
}

// give types. A key and a draft are typed as they are.
func (h *Hub) give(ctx context.Context, rt session.Runtime, r session.Record, l session.Live, in session.Input) (input.Outcome, error) {
	if err := h.cfg.Activity.Note(r.Run.ID, in.Text, time.Now()); err != nil {
		h.log.Warn("its echo may be read as the agent's words", "session", r.Address, "error", err)
	}
	sender := activity.NewSender(h.cfg.Activity, rt, r, l)
	if in.Key != "" || in.NoEnter {
		return sender.Press(ctx, in)
	}
	return sender.Send(ctx, in.Text, false)
}
