package apply

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/session"
)

// ConversationGoneError says that the conversation which a session is to go on
// with is not kept by its agent any more. Nothing was ended.
type ConversationGoneError struct {
	Address      session.Address
	Agent        string
	Conversation string
}

// Error says what to do about it.
func (e *ConversationGoneError) Error() string {
	return fmt.Sprintf("its conversation %s is gone: %s has no file of it any more\nagentform restart --fresh %s starts a new one, with the prompt",
		e.Conversation, e.Agent, e.Address)
}

// ErrNoConversation says that there is none to go on with.
var ErrNoConversation = errors.New("there is no conversation to go on with")

// delivery is what a run is to begin with.
type delivery struct {
	prompt       bool   // the session's prompt is to be delivered
	delivered    bool   // it already was, to the conversation that goes on
	conversation string // the agent's conversation to go on with; empty: a fresh one
}

// promptDue decides what a new run of the wanted session begins with. A
// conversation that goes on has its prompt already, if it was ever delivered; a
// fresh one needs it. An agent of which no conversation is known, or that has
// never begun one, cannot go on with one. The error says that the conversation is
// gone, or that there is none.
func (j *job) promptDue(s session.Spec, fresh bool) (delivery, error) {
	old, d := j.rec.Run, delivery{prompt: takesPrompt(s)}
	if fresh {
		return d, nil
	}
	if old.StartedAt.IsZero() || s.Conversation != j.rec.Spec.Conversation {
		id, err := j.declared(s)
		d.conversation = id
		return d, err
	}
	if !s.Restart.Resume {
		return d, nil
	}
	known := old.Conversation
	if known == "" && s.Conversation.Resume {
		known = s.Conversation.ID
	}
	if known == "" {
		return d, nil
	}
	switch kept, err := j.keeps(s, known); {
	case err != nil:
		return d, err
	case !kept:
		return d, nil
	}
	d.conversation = known
	d.delivered = !old.DeliveredAt.IsZero() && old.PromptSHA == s.Prompt.Digest
	d.prompt = d.prompt && !d.delivered
	return d, nil
}

// declared is the conversation that the wanted session says to go on with: the
// one that it names, or the latest in its workspace; empty: a fresh one.
func (j *job) declared(s session.Spec) (string, error) {
	if !s.Conversation.Resume || s.Conversation.ID != "" {
		return s.Conversation.ID, nil
	}
	of := j.run.activity.Lookup(j.rec)
	of.Dir = cmp.Or(j.rec.Tree.Path, s.Workspace.Path)
	if id := sessionfile.Latest(j.agent(), of); id != "" {
		return id, nil
	}
	return "", fmt.Errorf("%w: %s keeps none of %s\nname one, conversation { id = \"…\" }, or take resume = true out", ErrNoConversation, s.Agent.Name, of.Dir)
}

// keeps reports whether the session can go on with a conversation. One of which
// there never was a file has not been begun before its agent left; that one is
// gone that was there is an error.
func (j *job) keeps(s session.Spec, conversation string) (bool, error) {
	of := j.run.activity.Lookup(j.rec)
	of.Conversation = conversation
	kept, known := sessionfile.Kept(j.agent(), of)
	if kept || !known {
		return true, nil
	}
	past, err := history.Read(j.run.Folder(j.rec), time.Time{})
	resumed := !j.rec.Run.DeliveredAt.IsZero() && j.rec.Run.DeliveredAt.Before(j.rec.Run.StartedAt)
	begun := resumed || activity.Kept(j.rec, past)
	if err == nil && begun && j.run.activity.InImage(j.rec) {
		return true, nil // its file is in the container, and cannot be asked
	}
	if err != nil || begun {
		return false, errors.Join(&ConversationGoneError{j.rec.Address, s.Agent.Name, conversation}, err)
	}
	return false, nil
}

// observe looks what the session's agent keeps of its run, before that ends or
// comes on record: the conversation that it can go on with, and what its history
// has not been told.
func (j *job) observe() {
	if j.rec.Run.ID == "" || j.rec.Run.StartedAt.IsZero() {
		return
	}
	folder := j.run.Folder(j.rec)
	past, err := history.Read(folder, time.Time{})
	if err != nil {
		return // whatever is done next will say so
	}
	look := j.run.activity.Look(j.rec, j.change.Live, past, j.run.now())
	if n := look.Transcript; n != nil && n.Conversation != "" {
		j.rec.Run.Conversation = n.Conversation
	}
	if l, n := j.change.Live, look.Transcript; (l == nil || l.Vital == session.Dead) && n != nil && n.Activity == session.Working {
		j.tell(history.Event{Kind: history.TurnInterrupted, Reason: string(j.change.Reason)})
	}
	for _, e := range activity.Changes(activity.Seen{Record: j.rec, Look: look, At: j.run.now()}, past) {
		j.tell(e)
	}
}
