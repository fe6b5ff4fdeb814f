package view

import (
	"io"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Finished is a session whose end was waited for.
type Finished struct {
	api.Session
	Exit    *session.Exit // nil: it has not exited, or nobody knows how
	Elapsed time.Duration // of the waiting
	Turn    bool          // its turn has ended, and its agent lives
	Answer  string        // what the agent said last; empty: it is not known
}

// FinishedLine writes how a session ended, in one line.
func FinishedLine(w io.Writer, s Style, x Finished, now time.Time) error {
	p := &page{Style: s}
	how := ""
	if x.Exit != nil {
		how = " (" + exitWords(*x.Exit, now) + ")"
	} else if x.Detail != "" {
		how = ": " + plaintext.OneLine(LocalTimes(x.Detail, now))
	}
	word := p.paint(stateInk(x.State), string(x.Status))
	if x.Turn && !x.Status.Terminal() {
		word = p.paint(green, "turn ended")
	}
	p.line(p.paint(bold, string(x.Address)+":"), " ", word, " after ", Elapsed(x.Elapsed), p.paint(noInk, how))
	return p.flush(w)
}

// WaitingLine returns what a session does and for how long, such as session.api: working
// 12s. A question comes with how to answer.
func WaitingLine(s Style, x api.Session, took time.Duration, answer string) string {
	p := &page{Style: s}
	p.WriteString(p.paint(bold, string(x.Address)+":") + " ")
	switch long := p.paint(dim, whole(session.Duration(took))); {
	case x.Activity == session.Blocked:
		p.line(p.paint(yellow, "asks"), colon(p, plaintext.OneLine(x.Detail)), " (", p.paint(noInk, answer), ")")
	case took < time.Second:
		p.line(wordAndReason(p, x, time.Now()))
	default:
		p.line(paintWord(p, x), " ", long)
	}
	return p.String()
}

// Finished writes how a session ended that was waited for.
func (l *Lines) Finished(x Finished) error {
	return l.write("finished", l.now(), x.Address, "status", x.Status, "state", x.State, "activity", x.Activity,
		"detail", x.Detail, "exit", x.Exit, "turn_ended", x.Turn, "answer", x.Answer)
}
