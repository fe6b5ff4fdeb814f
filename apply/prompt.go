package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/input"
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

// paste types the prompt into an agent that is ready for it, and records that.
// Until then the session's intent says that it is not complete.
func (j *job) paste(ctx context.Context, rt session.Runtime, text string) error {
	hands := input.Hands{Runtime: rt, Place: j.rec.Place, Agent: j.agent(), Boot: readyTimeout(j.rec.Spec.Agent), Look: j.sight}
	began := j.run.now() // what the agent does from now on is its answer
	outcome, err := hands.Send(ctx, text, false)
	if err != nil {
		return fmt.Errorf("type the prompt: %w", err)
	}
	if outcome == input.Unverified {
		return j.delivered("typed; nothing shows whether it was taken", began)
	}
	return j.delivered("typed, and taken", began)
}

// sight looks at the session that is typed into.
func (j *job) sight(ctx context.Context) (input.Sight, error) {
	lives, err := j.run.look(ctx, j.rec.Spec, true)
	if err != nil {
		return input.Sight{}, err
	}
	i := slices.IndexFunc(lives, func(l session.Live) bool { return l.Mark.Run == j.rec.Run.ID })
	if i < 0 {
		return input.Sight{}, session.ErrGone
	}
	look := j.run.activity.Read(j.rec, &lives[i], j.rec.Run.DeliveredAt, time.Now())
	return input.Sight{Screen: lives[i].Screen, Reading: look.Reading, Native: look.Native, Heard: j.run.activity.Heard([]string{j.rec.Run.ID})}, nil
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
