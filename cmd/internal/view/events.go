package view

import (
	"io"
	"strings"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Events writes events, one a line, with times in the zone of now.
func Events(w io.Writer, s Style, events []history.Event, now time.Time) error {
	p := &page{Style: s}
	writeEvents(p, events, now.Location(), true)
	return p.flush(w)
}

// SessionEvents writes events of one session, without its address, and without the date if they are
// of today.
func SessionEvents(w io.Writer, s Style, events []history.Event, now time.Time) error {
	p := &page{Style: s}
	for _, e := range events {
		kind := status.KindText(e.Kind)
		p.line(p.paint(dim, clock(e.Time, now)), gap, p.paint(kindInk(e.Kind), kind), gap, p.paint(noInk, plaintext.OneLine(eventWords(e))))
	}
	return p.flush(w)
}

// writeEvents omits addresses if all events are of one session.
func writeEvents(p *page, events []history.Event, zone *time.Location, addresses bool) {
	columns := []column{{}, {wide: len("override lifted")}, {}, {}} // wide enough to align the events of a followed history
	indent := "  "
	if addresses {
		indent = ""
	}
	var rows [][]cell
	for _, e := range events {
		address := ""
		if addresses {
			address = string(e.Address)
		}
		kind := status.KindText(e.Kind)
		rows = append(rows, []cell{
			{e.Time.In(zone).Format(time.DateTime), dim}, {kind, kindInk(e.Kind)}, {address, bold}, {eventWords(e), noInk},
		})
	}
	p.table(indent, columns, rows)
}

func eventWords(e history.Event) string {
	local := func(text string) string { return LocalTimes(text, time.Now()) }
	return strings.TrimPrefix(strings.TrimSpace(status.EventWords(e, local)), ": ")
}

func kindInk(k history.Kind) ink {
	switch k {
	case history.ApplyErrored, history.BranchMismatch, history.Escalated, history.Unhealthy, history.BudgetExceeded, history.VerificationFailed:
		return red
	case history.ApplySkipped, history.RunEnded, history.WorkKept, history.Held, history.BudgetWarned, history.BudgetHeld, history.PRFeedback:
		return yellow
	case history.ApplyComplete, history.Ready, history.Healthy, history.BranchRestored, history.Landed, history.Refreshed, history.Verified, history.BudgetLifted:
		return green
	}
	return noInk
}

// EventsJSON writes events as JSON, one a line.
func EventsJSON(w io.Writer, events []history.Event) error {
	for _, e := range events {
		if err := wire.WriteLine(w, status.EventOf(e)); err != nil {
			return err
		}
	}
	return nil
}

// Entries writes the entries of an agent's session file, with continuation lines aligned.
func Entries(w io.Writer, s Style, entries []session.Entry, now time.Time) error {
	p := &page{Style: s}
	for _, e := range entries {
		at := "        "
		if !e.At.IsZero() {
			at = e.At.In(now.Location()).Format(time.TimeOnly)
		}
		head := p.paint(dim, at) + "  " + p.paint(entryInk(e.Kind), pad(e.Kind, len("result")))
		for line := range strings.SplitSeq(strings.TrimRight(plaintext.Safe(e.Text), "\n "), "\n") {
			p.line(strings.TrimRight(head+"  "+line, " "))
			head = strings.Repeat(" ", len("15:04:05  result"))
		}
	}
	return p.flush(w)
}

func pad(s string, wide int) string { return s + strings.Repeat(" ", max(0, wide-len(s))) }

func entryInk(kind string) ink {
	switch kind {
	case "user":
		return bold
	case "error":
		return red
	case "agent":
		return noInk
	}
	return dim
}
