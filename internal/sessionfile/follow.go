package sessionfile

import (
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// Place is how far the session files of a run have been reported: lines by path.
type Place map[string]int

// More returns the lines that were added to the run's session files since told,
// each file's in order, and the new place. cut reports that the middle of a long
// file is missing.
func (r *Reader) More(a session.Agent, id string, of session.Lookup, told Place) (lines [][]byte, now Place, cut bool, err error) {
	if _, err = r.Read(a, id, of); err != nil {
		return nil, told, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now = Place{}
	if r.runs[id] == nil {
		return nil, now, false, nil
	}
	for _, f := range r.runs[id].all {
		from := max(0, told[f.path]-f.gone)
		lines = append(lines, slices.Clone(f.lines.lines[min(from, len(f.lines.lines)):])...)
		now[f.path] = f.gone + len(f.lines.lines)
		cut = cut || f.cut
	}
	return lines, now, cut, nil
}

// Entries returns what lines of session files say, for people, the oldest first:
// Claude Code may write an answer before its question. An entry without a time
// stays behind its predecessor.
func Entries(a session.Agent, lines [][]byte) []session.Entry {
	type dated struct {
		session.Entry
		at time.Time
	}
	var all []dated
	var last time.Time
	for _, line := range lines {
		for _, e := range a.Entries(line) {
			if !e.At.IsZero() {
				last = e.At
			}
			all = append(all, dated{e, last})
		}
	}
	slices.SortStableFunc(all, func(a, b dated) int { return a.at.Compare(b.at) })
	entries := make([]session.Entry, len(all))
	for i, d := range all {
		entries[i] = d.Entry
	}
	return entries
}
