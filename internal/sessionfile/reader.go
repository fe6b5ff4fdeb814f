package sessionfile

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/session"
)

// Reader reads session files again when they have changed. It is safe for concurrent use.
// The zero value is ready.
type Reader struct {
	mu    sync.Mutex
	runs  map[string]*run // by run id
	heads map[string]head // by path
}

type run struct {
	all        []file            // in the order of their patterns
	files      map[string]*lines // the same by path
	transcript *session.Transcript
}

func (r *Reader) Forget(but map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.runs, func(id string, _ *run) bool { return !but[id] })
}

// Read returns what the agent's session files of a run say; nil: none was found. The
// error is of files that could not be read; the others are read.
func (r *Reader) Read(a session.Agent, id string, of session.Lookup) (*session.Transcript, error) {
	if len(a.Files(of)) == 0 {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[string]*run{}
	}
	old := r.runs[id]
	if old == nil {
		old = &run{}
	}
	of, open := r.current(a, of)
	now, err := r.update(a, of, open, old)
	if n := now.transcript; n != nil && of.Conversation != "" && n.Conversation != "" && n.Conversation != of.Conversation {
		// A person started another conversation at the agent's terminal.
		of.Conversation = n.Conversation
		now, err = r.update(a, of, open, now)
	}
	r.runs[id] = now
	if now.transcript == nil {
		return nil, err
	}
	return new(*now.transcript), err
}

type file struct {
	path string
	*lines
}

// update reads what is new in the run's files, one of each pattern.
func (r *Reader) update(a session.Agent, of session.Lookup, open map[string]bool, old *run) (now *run, err error) {
	now = &run{files: map[string]*lines{}, transcript: old.transcript}
	changed := false
	for p := range places(a, of) {
		f, read, e := r.one(a, p, of, open, old)
		if e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		if f == nil || now.files[f.path] != nil {
			continue
		}
		now.files[f.path] = f.lines
		now.all, changed = append(now.all, *f), changed || read
	}
	switch {
	case len(now.all) == 0:
		now.transcript = nil
	case changed || len(now.files) != len(old.files) || old.transcript == nil:
		now.transcript = transcript(a, now.all)
	}
	return now, err
}

// one returns the run's file in a place, and whether it had to be read.
func (r *Reader) one(a session.Agent, p *place, of session.Lookup, open map[string]bool, old *run) (f *file, read bool, err error) {
	if p.err != nil {
		return nil, false, p.err
	}
	which := r.pick(a, p, of, open)
	if which == nil {
		return nil, false, nil
	}
	f = &file{p.path(*which), old.files[p.path(*which)]}
	if f.lines == nil {
		f.lines = &lines{}
	}
	if f.same(which.info) {
		return f, false, nil
	}
	content, info, err := p.read(*which)
	if err != nil {
		return nil, false, err
	}
	defer content.Close()
	return f, true, f.update(content, info)
}

func transcript(a session.Agent, all []file) *session.Transcript {
	var text [][]byte
	cut := false
	var written time.Time
	for _, f := range all {
		text, cut = append(text, f.lines.lines...), cut || f.cut
		if f.info != nil && f.info.ModTime().After(written) {
			written = f.info.ModTime()
		}
	}
	n := a.Transcript(text)
	n.Path, n.Truncated = all[0].path, cut
	if n.At.IsZero() {
		n.At = written
	}
	return &n
}

// Place is how far the session files of a run have been reported: lines by path.
type Place map[string]int

// More returns the lines that were added to the run's session files, and the new place.
// cut reports that the middle of a long file is missing.
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

// Entries returns the entries of lines in the order of time: Claude Code may write an
// answer before its question. One without a time stays behind its predecessor.
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
