package sessionfile

import (
	"time"

	"github.com/agentform/agentform/session"
)

// Latest returns the id of the agent's last conversation in a directory, or "". It
// uses the directory, the home and the environment of the lookup.
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

// latest returns the conversation of the newest file that names the directory and
// has a message in it.
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

// Present reports whether a run has a session file, without reading it.
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

// Kept reports whether the agent's files still have the conversation, with a
// message in it. known is false for an agent without files.
func Kept(a session.Agent, of session.Lookup) (kept, known bool) {
	of.Process = session.Process{}
	n, err := new(Reader).Read(a, "", of)
	return n != nil && n.Begun(), err == nil && len(a.Files(of)) > 0
}
