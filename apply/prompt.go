package apply

import (
	"cmp"
	"context"
	"fmt"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// delivery is what a run is to begin with.
type delivery struct {
	prompt       bool   // the session's prompt is to be delivered
	delivered    bool   // it already was, to the conversation that goes on
	conversation string // the agent's conversation to go on with; empty: a fresh one
}

// promptDue decides what a new run of the wanted session begins with. A
// conversation that goes on has its prompt already, if it was ever delivered; a
// fresh one needs it. An agent of which no conversation is known cannot go on
// with one.
func (j *job) promptDue(s session.Spec, fresh bool) delivery {
	old, d := j.rec.Run, delivery{prompt: takesPrompt(s)}
	declared := ""
	if s.Conversation.Resume {
		declared = s.Conversation.ID
	}
	known := cmp.Or(old.Conversation, declared)
	switch {
	case fresh:
	case old.StartedAt.IsZero() || s.Conversation != j.rec.Spec.Conversation:
		d.conversation = declared
	case s.Restart.Resume && known != "":
		d.conversation = known
		d.delivered = !old.DeliveredAt.IsZero() && old.PromptSHA == s.Prompt.Digest
		d.prompt = d.prompt && !d.delivered
	}
	return d
}

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

// paste types the prompt into an agent that is ready for it, and records that.
// Until then the session's intent says that it is not complete.
func (j *job) paste(ctx context.Context, rt session.Runtime, text string) error {
	if err := rt.Send(ctx, j.rec.Place, session.Input{Text: text}); err != nil {
		return fmt.Errorf("type the prompt: %w", err)
	}
	return j.delivered("typed")
}

// delivered records that the run has its prompt.
func (j *job) delivered(how string) error {
	j.rec.Run.DeliveredAt = j.run.now()
	if err := j.settle(); err != nil {
		return err
	}
	j.tell(history.Event{Kind: history.PromptDelivered, Detail: how, New: j.rec.Run.PromptSHA})
	return nil
}
