package agent

import (
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// turns is the state of an agent's turns, read from a session file. The readers of all agents share
// it; each interprets its own lines.
type turns struct {
	n    session.Transcript
	open bool // a turn has begun and not ended
	// repeats marks a file that may contain the end of a turn twice: an end counts only if a turn
	// is open.
	repeats bool
	asked   []request // tool calls and questions without a result, the oldest first
	worked  time.Time // the time of the last line that shows work
}

// request is a tool call or a question, by its id.
type request struct{ id, text string }

// copy returns a copy of t that shares nothing with it.
func (t *turns) copy() turns {
	c := *t
	c.n.Messages, c.n.Queued, c.n.Limits = slices.Clone(t.n.Messages), slices.Clone(t.n.Queued), slices.Clone(t.n.Limits)
	c.asked = slices.Clone(t.asked)
	return c
}

func (t *turns) Transcript() session.Transcript { return t.copy().n }

// doing sets the current activity.
func (t *turns) doing(a session.Activity, detail string) {
	t.n.Activity, t.n.Detail, t.n.Until, t.n.RefusedAt = a, detail, time.Time{}, time.Time{}
	if a == session.Working {
		t.worked = t.n.At
	}
}

// limited sets the end of a limit that the agent has met, as far as its message says that.
func (t *turns) limited(at time.Time) {
	if t.n.Activity == session.BlockedAPI {
		t.n.Until = limitEnd(t.n.Detail, at.Local())
	}
}

// take counts a user's message that the agent has taken up.
func (t *turns) take(at time.Time, text string) {
	t.n.Prompts++
	t.n.LastPrompt, t.n.PromptAt = text, at
	t.n.Take(session.Message{At: at, Text: text})
}

// begin starts a turn, or continues an open one.
func (t *turns) begin() {
	t.open, t.n.Interrupted = true, false
	t.doing(session.Working, "")
}

// ask adds a tool call or a question.
func (t *turns) ask(id, text string) {
	t.answer(id)
	t.asked = append(t.asked, request{id, text})
}

// answer removes a request that has a result.
func (t *turns) answer(id string) {
	t.asked = slices.DeleteFunc(t.asked, func(r request) bool { return r.id == id })
}

// waits sets the activity to waiting for an answer to the first question, or to work without one.
func (t *turns) waits() {
	if t.doing(session.Working, ""); len(t.asked) > 0 {
		t.doing(session.Blocked, t.asked[0].text)
	}
}

// end ends a turn, which the user may have interrupted, and sets the activity.
func (t *turns) end(at time.Time, does session.Activity, detail string, interrupted bool) {
	t.doing(does, detail)
	t.limited(at)
	t.asked = nil
	if t.repeats && !t.open {
		return
	}
	t.open = false
	t.n.Turns++
	t.n.TurnAt, t.n.Interrupted = at, interrupted
	if t.n.FirstTurnAt.IsZero() && does != session.BlockedAPI && does != session.Failed && !interrupted {
		t.n.FirstTurnAt = at
	}
}
