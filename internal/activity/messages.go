package activity

import (
	"slices"
	"time"

	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// messenger is an agent whose session file has each message of the user as typed. Its hooks report
// each message that begins a turn, and an empty one before the first.
type messenger interface {
	session.Agent
	Message(signal []byte) (text string, told bool)
}

// messages returns the messages that the agent has taken up, from its session file or else its
// hooks, and whether these report them.
func messages(a session.Agent, n *session.Transcript, signals []session.Signal) (all []session.Message, known bool) {
	if _, tells := a.(messenger); tells && n != nil {
		return n.Messages, true
	}
	return hooked(a, signals)
}

// hooked returns the messages that began a turn according to the agent's hooks, and whether the
// hooks report them.
func hooked(a session.Agent, signals []session.Signal) (all []session.Message, known bool) {
	m, tells := a.(messenger)
	if !tells {
		return nil, false
	}
	for _, s := range signals {
		text, told := m.Message(s.Data)
		if known = known || told; text != "" {
			all = append(all, session.Message{At: s.At, Text: text})
		}
	}
	return all, known
}

// takenAt returns when the agent took up a text; zero: not yet, and waiting is how many messages
// with the same text are queued.
func (t typed) takenAt(all []session.Message) (at time.Time, waiting int) {
	waiting = t.Again + 1
	for _, m := range all {
		if m.At.Before(t.At) {
			continue
		}
		if waiting -= t.Text.In(m.Text); waiting <= 0 {
			return m.At, 0
		}
	}
	return time.Time{}, waiting
}

// answerTo returns the state of the answer to the last message of a run.
func answerTo(sent typed, taken time.Time, a session.Agent, n *session.Transcript, signals []session.Signal) turn.Answer {
	if _, known := messages(a, n, signals); !sent.Message || !known {
		return turn.Unknown
	}
	var ended bool
	if n != nil {
		ended = n.TurnAt.After(taken) || over(n.Activity) && !n.At.Before(taken)
	} else {
		at, begun := hookTurn(a, signals)
		ended = at.After(taken) && at.After(begun)
	}
	if taken.IsZero() || !ended {
		return turn.Awaited
	}
	return turn.Given
}

// last returns the last message of a run, or its prompt, and when the agent took it up according to
// the messages that it has taken up; zero: not yet.
func (s *seen) last(run session.Run, all []session.Message) (sent typed, taken time.Time) {
	sent = s.message
	if !sent.Message && !run.DeliveredAt.IsZero() && !run.DeliveredAt.Before(run.StartedAt) {
		sent = s.opening
		sent.At = run.DeliveredAt.Add(-early)
	}
	if sent.Message && !s.takenUp.Equal(sent.At) {
		if at, _ := sent.takenAt(all); !at.IsZero() {
			s.takenUp, s.taken = sent.At, at
		}
	}
	if sent.Message && s.takenUp.Equal(sent.At) {
		taken = s.taken
	}
	return sent, taken
}

// unprompted reports whether a run was started with a message that is not among those that the
// agent has taken up. Claude Code's file of a cleared conversation lacks the earlier messages.
func (s *seen) unprompted(run session.Run, all []session.Message) bool {
	sent, taken := s.last(run, all)
	return !s.message.Message && sent.Message && taken.IsZero()
}

// promptAhead reports whether the agent has yet to take up the prompt of its run, and would report
// that. It may show its composer before.
func promptAhead(r *Reader, a session.Agent, rec session.Record, x Look, signals []session.Signal) bool {
	all, known := messages(a, x.Transcript, signals)
	if !known || turned(rec, x) || x.Transcript != nil && x.Transcript.PromptAt.After(rec.Run.StartedAt) {
		return false
	}
	begun, _ := hooked(a, signals)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.run(rec.Run.ID).unprompted(rec.Run, slices.Concat(begun, all))
}

// promptTimeout is how long an agent that reports it may take to submit the prompt of its command
// line. It takes a second, and more than half a minute if a dozen agents start at once on two
// cores.
const promptTimeout = 2 * time.Minute

// promptBy returns the time by which an agent should take up the prompt of its run.
func promptBy(rec session.Record, tells bool) time.Time {
	limit := rec.Spec.Agent.ReadyTimeout.D()
	if tells {
		limit = max(limit, promptTimeout)
	}
	return rec.Run.StartedAt.Add(limit)
}

// lastAnswer returns the state of the answer to the last message of the run.
func (r *Reader) lastAnswer(a session.Agent, rec session.Record, n *session.Transcript, signals []session.Signal) turn.Answer {
	r.given(rec)
	all, _ := messages(a, n, signals)
	r.mu.Lock()
	sent, taken := r.run(rec.Run.ID).last(rec.Run, all)
	r.mu.Unlock()
	return answerTo(sent, taken, a, n, signals)
}

// Sending records a text before it is typed and submitted. The text is then not read from the
// screen as the outcome. If it is a message for the model, a turn that ends before the agent has
// taken it up does not count as its answer.
func (r *Reader) Sending(rec session.Record, text string, message bool, at time.Time) error {
	if rec.Run.ID == "" {
		return nil
	}
	r.given(rec)
	a := r.Agent(rec)
	n, _ := r.files.Read(a, rec.Run.ID, r.Lookup(rec)) // if it cannot be read, no queue is known
	all, known := messages(a, n, r.signals(rec))
	t := typed{At: at, Message: message}
	r.mu.Lock()
	last, taken := r.run(rec.Run.ID).last(rec.Run, all)
	r.mu.Unlock()
	if message && known && last.Message && taken.IsZero() && last.Text.Is(text) {
		_, t.Again = last.takenAt(all)
	}
	return note(r.data.Run(rec.Run.ID), text, t)
}

// SentAt returns when a text was recorded as the last message of a run; zero: it was not.
func SentAt(r *Reader, rec session.Record, text string) time.Time {
	r.given(rec)
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.run(rec.Run.ID).message; m.Message && m.Text.Is(text) {
		return m.At
	}
	return time.Time{}
}

// lastOf returns the last message among a run's texts, or zero if there is none.
func lastOf(all []typed) typed {
	for _, t := range slices.Backward(all) {
		if t.Message {
			return t
		}
	}
	return typed{}
}
