package view

import (
	"io"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// Entries writes the entries of an agent's session file: the time, the author or kind,
// and the text, with further lines aligned.
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

// EntriesJSON writes the last entries that fit into a tail as one document.
func EntriesJSON(w io.Writer, a session.Address, path string, entries []session.Entry, truncated bool) error {
	last, cut := status.LastEntries(entries, 0)
	return document(w, "address", a, "path", path, "entries", last, "truncated", truncated || cut)
}
