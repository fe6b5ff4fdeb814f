package apply

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/session"
)

// conversations decides which conversation a run resumes.
type conversations struct {
	reader  *activity.Reader
	journal *journal
}

// delivery is what a run is to begin with.
type delivery struct {
	prompt       bool   // the session's prompt is to be delivered
	delivered    bool   // the conversation that is resumed has it already
	conversation string // the agent's conversation to resume; empty: a new one
}

// due returns the start of a new run of the session. A resumed conversation has its prompt if that
// was ever delivered. If none began, a new one starts. The error is that the conversation is gone,
// or that there is none.
func (c *conversations) due(rec session.Record, a session.Agent, s session.Spec, fresh bool) (delivery, error) {
	old, d := rec.Run, delivery{prompt: takesPrompt(s)}
	if fresh {
		return d, nil
	}
	d.prompt = d.prompt || s.Agent.Name == rec.Spec.Agent.Name && handsOver(rec)
	if old.StartedAt.IsZero() || s.Conversation != rec.Spec.Conversation {
		id, err := c.declared(rec, a, s)
		d.conversation = id
		return d, err
	}
	if s.Agent.Program() != rec.Spec.Agent.Program() {
		return d, nil // it is another agent's
	}
	known := old.Conversation
	if known == "" && s.Conversation.Resume {
		known = s.Conversation.ID
	}
	if !s.Restart.Resume || known == "" {
		return d, nil
	}
	if kept, err := c.keeps(rec, a, s, known); !kept || err != nil {
		return d, err
	}
	d.conversation = known
	d.delivered = !old.DeliveredAt.IsZero() && (rec.HasPrompt(s.Prompt.Digest) || s.OnPromptChange == session.PromptIsKept)
	d.prompt = d.prompt && !d.delivered
	return d, nil
}

// declared returns the conversation that the wanted session names, or the latest in its
// workspace; empty: a new one.
func (c *conversations) declared(rec session.Record, a session.Agent, s session.Spec) (string, error) {
	if !s.Conversation.Resume || s.Conversation.ID != "" {
		return s.Conversation.ID, nil
	}
	of := c.reader.Lookup(rec)
	of.Dir = cmp.Or(rec.Tree.Path, s.Workspace.Path)
	if id := sessionfile.Latest(a, of); id != "" {
		return id, nil
	}
	return "", fmt.Errorf("%w: %s keeps none of %s\nname one, conversation { id = \"…\" }, or remove resume = true", ErrNoConversation, s.Agent.Name, of.Dir)
}

// keeps reports whether the agent still keeps a conversation. It is an error if its file
// is gone; if there never was one, the agent exited before the conversation began.
func (c *conversations) keeps(rec session.Record, a session.Agent, s session.Spec, conversation string) (bool, error) {
	of := c.reader.Lookup(rec)
	of.Conversation = conversation
	kept, known := sessionfile.Kept(a, of)
	if kept || !known {
		return true, nil
	}
	past, err := history.Read(c.journal.config.Folder(rec), time.Time{})
	resumed := !rec.Run.DeliveredAt.IsZero() && rec.Run.DeliveredAt.Before(rec.Run.StartedAt)
	begun := resumed || activity.Kept(rec, past)
	if _, copied := os.Lstat(of.Root); err == nil && begun && of.Root != "" && copied != nil {
		return true, nil // its file is in the container and was never copied
	}
	if err != nil || begun {
		return false, errors.Join(&ConversationGoneError{rec.Address, s.Agent.Name, conversation}, err)
	}
	return false, nil
}

// observe records the conversation before the run ends, and emits what the history lacks.
func (c *conversations) observe(e *entry) {
	if e.rec.Run.ID == "" || e.rec.Run.StartedAt.IsZero() {
		return
	}
	past, err := history.Read(c.journal.config.Folder(e.rec), time.Time{})
	if err != nil {
		return // the next write reports it
	}
	look := c.reader.Look(e.rec, e.change.Live, past, c.journal.now())
	if n := look.Transcript; n != nil && n.Conversation != "" {
		e.rec.Run.Conversation = n.Conversation
	}
	if l, n := e.change.Live, look.Transcript; (l == nil || l.Liveness == session.Dead) && n != nil && n.Activity == session.Working {
		e.emit(history.Event{Kind: history.TurnInterrupted, Reason: string(e.change.Reason), Detail: e.change.Detail})
	}
	for _, x := range activity.Changes(activity.Seen{Record: e.rec, Look: look, At: c.journal.now()}, past) {
		e.emit(x)
	}
}
