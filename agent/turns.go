package agent

import (
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// turns is what a session file has told so far of the agent's turns. The readers of all agents
// share it: each says what its lines mean.
type turns struct {
	n    session.Transcript
	open bool // a turn has begun that has not ended
	// repeats says that the file may have the end of a turn twice: an end counts only if a
	// turn is open.
	repeats bool
	asked   []request // tool calls and questions without a result, the first one first
	worked  time.Time // when a line was written that says that it works
}

// request is a tool call or a question, by its id.
type request struct{ id, text string }

// copy returns turns that share nothing with t, which is still written to.
func (t *turns) copy() turns {
	c := *t
	c.n.Messages, c.n.Queued, c.n.Limits = slices.Clone(t.n.Messages), slices.Clone(t.n.Queued), slices.Clone(t.n.Limits)
	c.asked = slices.Clone(t.asked)
	return c
}

func (t *turns) Transcript() session.Transcript { return t.copy().n }

// doing says what the agent does now.
func (t *turns) doing(a session.Activity, detail string) {
	t.n.Activity, t.n.Detail, t.n.Until = a, detail, time.Time{}
	if a == session.Working {
		t.worked = t.n.At
	}
}

// take counts a message of the user that the agent has taken up.
func (t *turns) take(at time.Time, text string) {
	t.n.Prompts++
	t.n.LastPrompt, t.n.PromptAt = text, at
	t.n.Take(session.Message{At: at, Text: text})
}

// begin begins a turn. One that is open continues.
func (t *turns) begin() {
	t.open, t.n.Interrupted = true, false
	t.doing(session.Working, "")
}

// ask adds a tool call or a question.
func (t *turns) ask(id, text string) {
	t.answer(id)
	t.asked = append(t.asked, request{id, text})
}

// answer removes what has a result.
func (t *turns) answer(id string) {
	t.asked = slices.DeleteFunc(t.asked, func(r request) bool { return r.id == id })
}

// waits says that the agent waits for an answer to the first question, or works if there is
// none.
func (t *turns) waits() {
	if t.doing(session.Working, ""); len(t.asked) > 0 {
		t.doing(session.Blocked, t.asked[0].text)
	}
}

// end ends a turn, which a person may have interrupted, and says what the agent does then.
func (t *turns) end(at time.Time, does session.Activity, detail string, interrupted bool) {
	t.doing(does, detail)
	t.asked = nil
	if t.repeats && !t.open {
		return
	}
	t.open = false
	t.n.Turns++
	t.n.TurnAt, t.n.Interrupted = at, interrupted
	if t.n.FirstTurnAt.IsZero() {
		t.n.FirstTurnAt = at
	}
}
