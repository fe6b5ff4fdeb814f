package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/session"
)

// takesPrompt reports whether a session has a prompt that its agent is given.
func takesPrompt(s session.Spec) bool {
	return s.Prompt.Digest != "" && s.Agent.PromptVia != agent.ViaNone
}

// keepPrompt keeps the prompt's text under its digest, so that a later start
// finds it without the manifest.
func (j *job) keepPrompt(s session.Spec) error {
	if s.Prompt.Text == "" {
		return nil
	}
	if _, err := j.run.Blobs.Put(s.Prompt.Text); err != nil {
		return fmt.Errorf("keep the prompt: %w", err)
	}
	return nil
}

// promptText is the text of the session's prompt, from the manifest or as it
// was kept.
func (j *job) promptText() (string, error) {
	p := j.rec.Spec.Prompt
	if p.Digest == "" || p.Text != "" {
		return p.Text, nil
	}
	text, err := j.run.Blobs.Get(p.Digest)
	if err != nil {
		return "", fmt.Errorf("read the kept prompt: %w", err)
	}
	return text, nil
}

// deliver types the prompt into an agent once that is ready for it, and records that.
// Until then the session's intent says that it is not complete.
func (j *job) deliver(ctx context.Context, r *launch.Run) error {
	if err := j.becomeReady(ctx, r); err != nil {
		return err
	}
	outcome, err := r.Deliver(ctx)
	if err != nil {
		return fmt.Errorf("type the prompt: %w", err)
	}
	how := "typed, and taken"
	if outcome == input.Unverified {
		how = "typed; nothing shows whether it was taken"
	}
	return j.delivered(how, j.rec.Run.DeliveredAt)
}

// delivered records that the run has its prompt, since when.
func (j *job) delivered(how string, at time.Time) error {
	j.rec.Run.DeliveredAt = at
	if err := j.settle(); err != nil {
		return err
	}
	j.tell(history.Event{Kind: history.PromptDelivered, Detail: how, New: j.rec.Run.PromptSHA})
	return nil
}
