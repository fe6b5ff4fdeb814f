package sessionfile

import (
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/agentform/agentform/session"
)

// Reader reads session files, and rereads only what has changed. It is safe for
// concurrent use. The zero value is ready.
type Reader struct {
	mu    sync.Mutex
	runs  map[string]*run // by run id
	heads map[string]head // by path
}

// run is what has been read of one run.
type run struct {
	all        []file            // in the order of their patterns
	files      map[string]*lines // the same by path
	transcript *session.Transcript
}

// Forget drops what was read of all other runs.
func (r *Reader) Forget(but map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.runs {
		if !but[id] {
			delete(r.runs, id)
		}
	}
}

// Read returns what the agent's session files of a run say; nil: none was found.
// The error says why an existing file could not be read; what the others say is
// returned with it.
func (r *Reader) Read(a session.Agent, id string, of session.Lookup) (*session.Transcript, error) {
	patterns := a.Files(of)
	if len(patterns) == 0 {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs, r.heads = map[string]*run{}, map[string]head{}
	}
	old := r.runs[id]
	if old == nil {
		old = &run{files: map[string]*lines{}}
	}
	now, err := r.update(a, patterns, of, old)
	if n := now.transcript; n != nil && of.Conversation != "" && n.Conversation != "" && n.Conversation != of.Conversation {
		// A person started another conversation at the agent's terminal.
		of.Conversation = n.Conversation
		now, err = r.update(a, a.Files(of), of, now)
	}
	r.runs[id] = now
	if now.transcript == nil {
		return nil, err
	}
	n := *now.transcript
	return &n, err
}

// update reads what is new in the run's files.
func (r *Reader) update(a session.Agent, patterns []string, of session.Lookup, old *run) (*run, error) {
	now := &run{files: map[string]*lines{}}
	all, changed, err := r.gather(a, patterns, of, old, now)
	now.all = all
	switch {
	case len(all) == 0:
	case changed || len(now.files) != len(old.files) || old.transcript == nil:
		now.transcript = transcript(a, all)
	default:
		now.transcript = old.transcript
	}
	return now, err
}

// file is one file of a run and what was read of it.
type file struct {
	path string
	*lines
}

// gather reads the run's file of each pattern, in their order.
func (r *Reader) gather(a session.Agent, patterns []string, of session.Lookup, old, now *run) (all []file, changed bool, err error) {
	open := openFiles(of.Process)
	for _, pattern := range patterns {
		f, moved, e := r.one(a, pattern, of, open, old)
		if e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		if f == nil || now.files[f.path] != nil {
			continue
		}
		now.files[f.path] = f.lines
		all, changed = append(all, *f), changed || moved
	}
	return all, changed, err
}

// one reads the run's file of one pattern.
func (r *Reader) one(a session.Agent, pattern string, of session.Lookup, open map[string]bool, old *run) (f *file, changed bool, err error) {
	p, err := openPlace(pattern, of.Home)
	if err != nil {
		return nil, false, err
	}
	defer p.close()
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
	content, info, err := p.open(*which)
	if err != nil {
		return nil, false, err
	}
	defer content.Close()
	return f, true, f.update(content, info)
}

// transcript returns what the files say together.
func transcript(a session.Agent, all []file) *session.Transcript {
	var text [][]byte
	cut := false
	var written time.Time
	for _, f := range all {
		text, cut = append(text, f.lines.lines...), cut || f.cut
		if at := f.modified(); at.After(written) {
			written = at
		}
	}
	n := a.Transcript(text)
	n.Path, n.Truncated = all[0].path, cut
	if n.At.IsZero() {
		n.At = written
	}
	return &n
}
