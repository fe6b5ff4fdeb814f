package sessionfile

import (
	"time"

	"github.com/agentform/agentform/session"
)

// Latest is the conversation that the agent last had in the folder, by its own
// id; empty: there is none that can be found. Of the whereabouts it takes the
// folder, the home and the environment.
func Latest(a session.Agent, of session.Lookup) string {
	of.Conversation, of.StartedAt, of.Process = "", time.Time{}, session.Process{}
	r := Reader{heads: map[string]head{}}
	for _, pattern := range a.Files(of) {
		p, err := openPlace(pattern, of.Home)
		if err != nil {
			continue
		}
		id := r.latest(a, p, of)
		p.close()
		if id != "" {
			return id
		}
	}
	return ""
}

// latest is the conversation of the file that was written to last, of those that
// say that they are of the folder and have something said in them.
func (r *Reader) latest(a session.Agent, p *place, of session.Lookup) string {
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
	return ""
}

// Present reports whether there is any session file of a run, without reading it.
func (r *Reader) Present(a session.Agent, of session.Lookup) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.heads == nil {
		r.runs, r.heads = map[string]*run{}, map[string]head{}
	}
	open := openFiles(of.Process)
	for _, pattern := range a.Files(of) {
		p, err := openPlace(pattern, of.Home)
		if err != nil {
			continue
		}
		which := r.pick(a, p, of, open)
		p.close()
		if which != nil {
			return true
		}
	}
	return false
}

// Kept reports whether a conversation, with something said in it, is still to be
// found in the agent's own files. Known says whether that can be told at all: an agent may have no files.
func Kept(a session.Agent, of session.Lookup) (kept, known bool) {
	of.Process = session.Process{}
	n, err := new(Reader).Read(a, "", of)
	return n != nil && n.Begun(), err == nil && len(a.Files(of)) > 0
}
