package view

import (
	"io"
	"time"

	"github.com/agentform/agentform/session"
)

// Finished is a session that was waited for until it ended.
type Finished struct {
	Session
	Exit    *session.Exit // nil: it has not left, or nobody knows how
	Elapsed time.Duration // of the waiting
}

// FinishedLine writes how a session ended, in one line.
func FinishedLine(w io.Writer, s Style, x Finished, now time.Time) error {
	p := &page{Style: s}
	how := ""
	if x.Exit != nil {
		how = " (" + exitWords(*x.Exit, now) + ")"
	} else if x.Detail != "" {
		how = ": " + oneLine(x.Detail)
	}
	p.line(p.paint(bold, string(x.Address)+":"), " ", p.paint(stateInk(x.State), string(x.Status)),
		" after ", Elapsed(x.Elapsed), p.paint(noInk, how))
	return p.flush(w)
}

// Finished writes how a session ended that was waited for.
func (l *Lines) Finished(x Finished) error {
	return l.write(struct {
		head
		Status   session.Status   `json:"status"`
		State    session.State    `json:"state"`
		Activity session.Activity `json:"activity"`
		Detail   string           `json:"detail"`
		Exit     *session.Exit    `json:"exit"`
	}{l.head("finished", x.Address), x.Status, x.State, x.Activity, x.Detail, x.Exit})
}
