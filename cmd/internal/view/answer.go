package view

import (
	"fmt"
	"io"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Answer is the outcome of an answer to a session's question.
type Answer struct {
	Address  session.Address
	Question *session.Question // nil: there was no question
	Given    string            // the option's name, or with a text
	Option   *session.Option   // nil: a text was typed, or nothing was answered
	Next     *session.Question // the agent's next question
	Exited   bool
	Err      error
}

// Question writes an agent's question, with an answer on each line.
func Question(w io.Writer, s Style, address session.Address, q session.Question) error {
	p := &page{Style: s}
	p.prose(2, p.paint(bold, string(address)), " ", p.paint(yellow, "asks"), ": ", p.paint(noInk, plaintext.OneLine(q.Text)))
	for _, o := range q.Options {
		name := fmt.Sprintf("%d", o.Number)
		if o.Word != "" {
			name += " or " + o.Word
		}
		p.prose(4, "  ", name, ": ", p.paint(noInk, plaintext.OneLine(o.Label)))
	}
	if q.Free {
		p.line("  TEXT")
	}
	return p.flush(w)
}

// AnswerLine writes an answer that was given.
func AnswerLine(w io.Writer, s Style, x Answer) error {
	p := &page{Style: s}
	p.prose(2, p.paint(bold, string(x.Address)+":"), " answered ", p.paint(green, plaintext.OneLine(x.Given)), ": ", p.paint(noInk, plaintext.OneLine(x.Question.Text)))
	switch {
	case x.Exited:
		p.prose(4, unbrokenCommand("  the agent has exited since: agentform start "+plaintext.ShellWord(x.Address.Short())))
	case x.Next != nil:
		p.prose(4, "  ", p.paint(yellow, "asks"), ": ", p.paint(noInk, plaintext.OneLine(x.Next.String())))
	}
	return p.flush(w)
}

// AnswersJSON writes the outcomes of answers as one document.
func AnswersJSON(w io.Writer, all []Answer) error {
	answers := make([]wire.Object, len(all))
	for i, x := range all {
		outcome := "answered"
		if x.Err != nil {
			outcome = "failed"
		}
		answers[i] = wire.Object{"address", x.Address, "outcome", outcome, "question", x.Question, "option", x.Option,
			"next", x.Next, "exited", x.Exited, "error", failure(x.Err)}
	}
	return document(w, "answers", answers)
}

// howToAnswer returns the command that answers sessions with the same question, or "".
func howToAnswer(sessions ...api.Session) string {
	x := sessions[0]
	if x.Question == nil {
		return ""
	}
	what := "ANSWER"
	if len(x.Question.Options) == 0 {
		what = "TEXT"
	}
	names := ""
	for _, x := range sessions {
		names += plaintext.ShellWord(x.Address.Short()) + " "
	}
	return "agentform answer " + names + what
}
