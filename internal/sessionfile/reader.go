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

// Reader reads session files again when they have changed. It is safe for concurrent use. The zero
// value is ready to use.
type Reader struct {
	mu    sync.Mutex
	runs  map[string]*run // by run id
	heads map[string]head // by path
}

type run struct {
	of         session.Lookup
	open       map[string]bool
	all        []string           // paths, in the order of their patterns
	files      map[string]*cursor // by path
	reader     session.TranscriptReader
	transcript *session.Transcript
}

func (r *Reader) Forget(but map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.runs, func(id string, _ *run) bool { return !but[id] })
}

// Read returns the transcript in a run's session files; nil: none was found. The error names files
// that could not be read; the others are read.
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
		// The user started another conversation at the agent's terminal.
		of.Conversation = n.Conversation
		now, err = r.update(a, of, open, now)
	}
	r.runs[id] = now
	if now.transcript == nil {
		return nil, err
	}
	return new(*now.transcript), err
}

// update reads the additions to the run's files, one for each pattern.
func (r *Reader) update(a session.Agent, of session.Lookup, open map[string]bool, old *run) (*run, error) {
	now, follows, err := r.follow(a, of, open, old)
	if !follows {
		now, _, err = r.follow(a, of, open, &run{})
	}
	return now, err
}

// follow reads the additions to a run's files. follows is false if they must be read again from the
// beginning, because the run now has other files or one was replaced.
func (r *Reader) follow(a session.Agent, of session.Lookup, open map[string]bool, old *run) (now *run, follows bool, err error) {
	now = &run{of: of, open: open, files: map[string]*cursor{}, reader: old.reader, transcript: old.transcript}
	if now.reader == nil {
		now.reader = a.Reader()
	}
	changed := false
	for p := range places(a, of) {
		path, added, follows, e := r.add(a, p, now, old)
		if e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		if !follows {
			return nil, false, err
		}
		if path != "" {
			now.all, changed = append(now.all, path), changed || added
		}
	}
	switch {
	case len(now.files) != len(old.files) && len(old.files) > 0:
		return nil, false, err
	case len(now.all) == 0:
		now.transcript = nil
	case changed || now.transcript == nil:
		now.transcript = now.told()
	}
	return now, true, err
}

// add reads the additions to the run's file in a place, if it has one there.
func (r *Reader) add(a session.Agent, p *place, now, old *run) (path string, added, follows bool, err error) {
	if p.err != nil {
		return "", false, true, p.err
	}
	which := r.pick(a, p, now.of, now.open)
	if which == nil || now.files[p.path(*which)] != nil {
		return "", false, true, nil
	}
	path = p.path(*which)
	c := old.files[path]
	switch {
	case c != nil && c.same(which.info):
		now.files[path] = c
		return path, false, true, nil
	case c == nil && len(old.files) > 0:
		return "", false, false, nil
	case c == nil:
		c = &cursor{}
	}
	content, info, err := p.read(*which)
	if err != nil {
		return "", false, true, err
	}
	defer content.Close()
	before := c.info
	lines, again, err := c.next(content, info)
	if err != nil {
		return "", false, true, err
	}
	if again && before != nil && !(before.Size() <= small && info.Size() <= small && old.long()) {
		return "", false, false, nil
	}
	for _, line := range lines {
		now.reader.Add(line)
	}
	now.files[path] = c
	return path, true, true, nil
}

// long reports whether reading one of the files again would take long.
func (r *run) long() bool {
	for _, c := range r.files {
		if c.info != nil && c.info.Size() > small {
			return true
		}
	}
	return false
}

// told returns the transcript in the files.
func (r *run) told() *session.Transcript {
	n := r.reader.Transcript()
	n.Path = r.all[0]
	var written time.Time
	for _, c := range r.files {
		n.Truncated = n.Truncated || c.cut
		if c.info.ModTime().After(written) {
			written = c.info.ModTime()
		}
	}
	if n.At.IsZero() {
		n.At = written
	}
	return &n
}

// Place is the position up to which a run's session files have been reported, by path.
type Place map[string]cursor

// More returns the lines added to the run's session files, and the new place. cut reports whether
// the middle of a long file is missing.
func (r *Reader) More(a session.Agent, id string, of session.Lookup, told Place) (lines [][]byte, now Place, cut bool, err error) {
	if _, err = r.Read(a, id, of); err != nil {
		return nil, told, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now = Place{}
	x := r.runs[id]
	for p := range places(a, x.of) {
		if p.err != nil {
			continue
		}
		which := r.pick(a, p, x.of, x.open)
		if which == nil || x.files[p.path(*which)] == nil {
			continue
		}
		c := told[p.path(*which)]
		added, e := c.more(p, *which)
		err = errors.Join(err, e)
		lines = append(lines, added...)
		now[p.path(*which)], cut = c, cut || c.cut
	}
	return lines, now, cut, err
}

// more returns the lines added to a file, small or not.
func (c *cursor) more(p *place, f found) (lines [][]byte, err error) {
	content, info, err := p.read(f)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	if c.grown(info) {
		lines, err = c.add(content, info.Size())
	} else {
		lines, err = c.begin(content, info)
	}
	c.info = info
	return lines, err
}

// Entries returns the entries of lines ordered by time: Claude Code may write an answer before its
// question. An entry without a time stays after its predecessor.
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
