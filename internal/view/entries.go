package view

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// Entries writes what is in an agent's own session, for people: the time, who or
// what, and the text, further lines of it below each other.
func Entries(w io.Writer, s Style, entries []session.Entry, now time.Time) error {
	p := &page{Style: s}
	for _, e := range entries {
		at := "        "
		if !e.At.IsZero() {
			at = e.At.In(now.Location()).Format(time.TimeOnly)
		}
		head := p.paint(dim, at) + "  " + p.paint(entryInk(e.Kind), pad(e.Kind, len("result")))
		for line := range strings.SplitSeq(strings.TrimRight(Safe(e.Text), "\n "), "\n") {
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

// EntriesJSON writes the end of an agent's own session as one document: the last
// entries that fit into a tail.
func EntriesJSON(w io.Writer, a session.Address, path string, entries []session.Entry, truncated bool) error {
	last, cut := LastEntries(entries, 0)
	return Document(w, struct {
		Format    string          `json:"format_version"`
		Address   session.Address `json:"address"`
		Path      string          `json:"path"`
		Entries   []session.Entry `json:"entries"`
		Truncated bool            `json:"truncated"`
	}{FormatVersion, a, path, last, truncated || cut})
}

// LastEntries are the last entries that fit into a tail, and no more than most (0: as
// many as fit), as a document has them, and whether there were more.
func LastEntries(entries []session.Entry, most int) (last []session.Entry, cut bool) {
	size, from := 0, len(entries)
	for from > 0 && (most == 0 || len(entries)-from < most) {
		b, err := json.Marshal(entries[from-1])
		if size += len(b) + 1; err != nil || size > session.TailLimit {
			break
		}
		from--
	}
	last = append([]session.Entry{}, entries[from:]...)
	for i := range last {
		last[i].At = utc(last[i].At)
	}
	return last, from > 0
}
