package sessionfile

import (
	"errors"
	"io/fs"
	"time"

	"github.com/agentform/agentform/session"
)

// Searched is one place that was searched for a run's session file.
type Searched struct {
	Pattern string
	Err     error // why the place could not be searched; fs.ErrNotExist: it does not exist
	Files   []Candidate
	Chosen  string // the path of the run's file; empty: none of them is it
}

// Candidate is a file that matches a pattern, with facts from its beginning.
type Candidate struct {
	Path         string
	Written      time.Time
	Dir          string // of the conversation; empty: not in the file
	Conversation string
	StartedAt    time.Time // zero: not in the file
}

// Search returns the places searched for the session file of a run, newest files first.
func Search(a session.Agent, of session.Lookup) []Searched {
	r := &Reader{}
	of, open := r.current(a, of)
	var all []Searched
	for p := range places(a, of) {
		s := Searched{Pattern: p.pattern, Err: p.err}
		if errors.Is(p.err, fs.ErrNotExist) {
			s.Err = fs.ErrNotExist
		}
		if p.err == nil {
			for _, f := range p.files() {
				h := r.head(a, p, f)
				s.Files = append(s.Files, Candidate{p.path(f), f.info.ModTime(), h.Dir, h.Conversation, h.StartedAt})
			}
			if which := r.pick(a, p, of, open); which != nil {
				s.Chosen = p.path(*which)
			}
		}
		all = append(all, s)
	}
	return all
}

// Latest returns the last conversation with a message in the lookup's directory, or "".
func Latest(a session.Agent, of session.Lookup) string {
	of.Conversation, of.StartedAt, of.Process = "", time.Time{}, session.Process{}
	r := Reader{}
	for p := range places(a, of) {
		if p.err != nil {
			continue
		}
		for _, f := range p.files() {
			h := r.head(a, p, f)
			if h.Conversation == "" || h.Dir != of.Dir && h.Dir != "" {
				continue
			}
			of.Conversation = h.Conversation
			if kept, _ := Kept(a, of); kept {
				return h.Conversation
			}
		}
	}
	return ""
}

// Present reports whether a run has a session file, without reading it.
func (r *Reader) Present(a session.Agent, of session.Lookup) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, open := r.current(a, of)
	for p := range places(a, of) {
		if p.err == nil && r.pick(a, p, of, open) != nil {
			return true
		}
	}
	return false
}

// Kept reports whether the agent's files still have the conversation with a message. known is false
// for an agent without files.
func Kept(a session.Agent, of session.Lookup) (kept, known bool) {
	of.Process = session.Process{}
	n, err := new(Reader).Read(a, "", of)
	return n != nil && n.Begun(), err == nil && len(a.Files(of)) > 0
}
