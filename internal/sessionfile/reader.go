package sessionfile

import (
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/agentform/agentform/session"
)

// Reader reads session files, and reads again only what has changed. It may be
// used by many goroutines. The zero value is ready.
type Reader struct {
	mu    sync.Mutex
	runs  map[string]*run // by run id
	heads map[string]head // by path
}

// run is what has been read of one run.
type run struct {
	all    []file            // in the order of their patterns
	files  map[string]*lines // the same by path
	native *session.Transcript
}

// Forget lets go of what has been read of all runs but these.
func (r *Reader) Forget(but map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.runs {
		if !but[id] {
			delete(r.runs, id)
		}
	}
}

// Read is what the agent's own session files of a run tell; nil: there are none,
// not yet, or none that can be found. The error says of one that is there why it
// could not be read; what the others tell comes with it.
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
	now, err := r.look(a, patterns, of, old)
	if n := now.native; n != nil && of.Conversation != "" && n.Conversation != "" && n.Conversation != of.Conversation {
		// Somebody has begun another conversation at the agent's terminal.
		of.Conversation = n.Conversation
		now, err = r.look(a, a.Files(of), of, now)
	}
	r.runs[id] = now
	if now.native == nil {
		return nil, err
	}
	n := *now.native
	return &n, err
}

// look reads what is new in the run's files.
func (r *Reader) look(a session.Agent, patterns []string, of session.Lookup, old *run) (*run, error) {
	now := &run{files: map[string]*lines{}}
	all, changed, err := r.gather(a, patterns, of, old, now)
	now.all = all
	switch {
	case len(all) == 0:
	case changed || len(now.files) != len(old.files) || old.native == nil:
		now.native = native(a, all)
	default:
		now.native = old.native
	}
	return now, err
}

// file is one file of a run: where it is and what stands in it.
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

// native is what the files tell together.
func native(a session.Agent, all []file) *session.Transcript {
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
