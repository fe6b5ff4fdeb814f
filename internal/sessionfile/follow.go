package sessionfile

import (
	"slices"

	"github.com/agentform/agentform/session"
)

// Place is how far the session files of a run have been told: lines by path. The
// zero value has told nothing.
type Place map[string]int

// More are the lines of the run's session files that were added behind a place,
// each file's from its first line on, and the place behind them. Cut says that of
// a long file the middle is missing.
func (r *Reader) More(a session.Agent, id string, of session.Whereabouts, told Place) (lines [][]byte, now Place, cut bool, err error) {
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

// Entries are what lines of an agent's session files say, for people.
func Entries(a session.Agent, lines [][]byte) []session.Entry {
	var all []session.Entry
	for _, line := range lines {
		all = append(all, a.Entries(line)...)
	}
	return all
}
