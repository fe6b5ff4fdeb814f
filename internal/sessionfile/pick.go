package sessionfile

import (
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// early is how much earlier than its run a session file may have started by its own time.
const early = 2 * time.Second

// lockSuffix is the suffix of a file that Copilot CLI has open in the directory of its
// conversation. Its session file is open only during a write.
const lockSuffix = ".hold"

// current returns the lookup with the agent's current conversation, if its open files show that,
// and these files. A user may have started another one at the terminal: Codex keeps the files of
// both open, and those of its sub-agents, which have no conversation.
func (r *Reader) current(a session.Agent, of session.Lookup) (session.Lookup, map[string]bool) {
	open := openFiles(of.Process)
	if len(open) == 0 {
		return of, open
	}
	whichever := of
	whichever.Conversation = ""
	for p := range places(a, whichever) {
		if p.err != nil {
			continue
		}
		var last time.Time
		for file := range open {
			name, below := strings.CutPrefix(file, p.real+"/")
			if own := path.Base(p.glob); strings.HasSuffix(name, lockSuffix) && !wild(own) {
				name = path.Join(path.Dir(name), own)
			}
			if matches, _ := path.Match(p.glob, name); !below || !matches { // the pattern is valid
				continue
			}
			info, err := p.root.Lstat(filepath.FromSlash(name))
			if err != nil || !info.ModTime().After(last) {
				continue
			}
			if id := r.head(a, p, found{name, info}).Conversation; id != "" {
				of.Conversation, last = id, info.ModTime()
			}
		}
	}
	return of, open
}

func (r *Reader) pick(a session.Agent, p *place, of session.Lookup, open map[string]bool) *found {
	files := p.files()
	for i, f := range files {
		if open[p.real+"/"+f.name] {
			return &files[i]
		}
	}
	if !wild(p.glob) && len(files) == 1 && !files[0].info.ModTime().Before(of.StartedAt.Add(-early)) {
		return &files[0] // the name identifies the run
	}
	if of.Conversation != "" {
		return r.ofConversation(a, p, files, of.Conversation)
	}
	return r.begunFirst(a, p, files, of)
}

// ofConversation returns a conversation's newest file with a message, else the newest. Gemini CLI
// 0.61.0 names files by the minute: resuming creates another one without messages.
func (r *Reader) ofConversation(a session.Agent, p *place, files []found, id string) *found {
	var all []*found
	for i, f := range files {
		if strings.Contains(f.name, id) || r.head(a, p, f).Conversation == id {
			all = append(all, &files[i])
		}
	}
	if len(all) == 0 {
		return nil
	}
	for _, f := range all {
		if len(all) == 1 {
			break // its head is not needed
		}
		r.head(a, p, *f)
		if !r.heads[p.path(*f)].silent {
			return f
		}
	}
	return all[0]
}

// begunFirst returns the file that was started first in the run's directory after the run. A file
// without a start time counts from its last write.
func (r *Reader) begunFirst(a session.Agent, p *place, files []found, of session.Lookup) *found {
	since := of.StartedAt.Add(-early)
	var first *found
	var at time.Time
	for i, f := range files {
		if f.info.ModTime().Before(since) {
			break // the rest is older
		}
		h := r.head(a, p, f)
		if h.Dir != "" && h.Dir != of.Dir || h.StartedAt.Before(since) && !h.StartedAt.IsZero() {
			continue
		}
		began := h.StartedAt
		if began.IsZero() {
			began = f.info.ModTime()
		}
		if first == nil || began.Before(at) {
			first, at = &files[i], began
		}
	}
	return first
}

const headLines = 8

// head reads the beginning of a file.
func (r *Reader) head(a session.Agent, p *place, f found) session.Transcript {
	key := p.path(f)
	if h, known := r.heads[key]; known && (h.size == f.info.Size() || h.size > small) {
		return h.transcript
	}
	file, info, err := p.read(f)
	if err != nil {
		return session.Transcript{}
	}
	defer file.Close()
	lines, err := new(cursor).add(file, min(info.Size(), headLimit))
	if err != nil {
		return session.Transcript{}
	}
	h := head{size: f.info.Size(), transcript: session.ReadTranscript(a, lines[:min(len(lines), headLines)])}
	if h.size <= small {
		all := session.ReadTranscript(a, lines)
		h.silent = !all.Begun()
	}
	if r.heads == nil {
		r.heads = map[string]head{}
	}
	r.heads[key] = h
	return h.transcript
}

// head is the result of reading the beginning of a file of some size.
type head struct {
	size       int64
	transcript session.Transcript
	silent     bool // the whole file was read and has no message
}
