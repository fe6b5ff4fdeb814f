package sessionfile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// early is how much earlier than its run a session file may say that it was
// begun: clocks of files and processes differ by their resolution.
const early = 2 * time.Second

func newestFirst(files []found) {
	slices.SortStableFunc(files, func(a, b found) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), cmp.Compare(a.name, b.name))
	})
}

// pick is the file of a pattern that is the run's; nil: none is, as far as can
// be told.
func (r *Reader) pick(a session.Agent, p *place, of session.Whereabouts, open map[string]bool) *found {
	files := p.files()
	for i, f := range files {
		if open[p.real+"/"+f.name] {
			return &files[i]
		}
	}
	if !wild(p.glob) && len(files) == 1 && !files[0].info.ModTime().Before(of.StartedAt.Add(-early)) {
		return &files[0] // its name says that it is the run's
	}
	if of.Conversation != "" {
		for i, f := range files {
			if strings.Contains(f.name, of.Conversation) || r.head(a, p, f).Conversation == of.Conversation {
				return &files[i]
			}
		}
		return nil
	}
	return r.begunFirst(a, p, files, of)
}

// begunFirst is the file that was begun first of those that were begun in the
// run's folder and not before the run. Files that do not say when they were begun
// or where are told by when they were last written, and taken for this one only
// if it is the only one.
func (r *Reader) begunFirst(a session.Agent, p *place, files []found, of session.Whereabouts) *found {
	since := of.StartedAt.Add(-early)
	var first *found
	var at time.Time
	for i, f := range files {
		if f.info.ModTime().Before(since) {
			break // the others are older still
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

// headLines is how many lines of a file are enough to see whose it is.
const headLines = 8

// head is what the beginning of a file tells.
func (r *Reader) head(a session.Agent, p *place, f found) session.Native {
	key := p.path(f)
	if h, known := r.heads[key]; known && (h.size == f.info.Size() || h.size > small) {
		return h.native
	}
	file, info, err := p.open(f)
	if err != nil {
		return session.Native{}
	}
	defer file.Close()
	var l lines
	if l.add(file, 0, min(info.Size(), headLimit)) != nil {
		return session.Native{}
	}
	n := a.Native(l.lines[:min(len(l.lines), headLines)])
	r.heads[key] = head{f.info.Size(), n}
	return n
}

// head is what the beginning of a file told when it was so long.
type head struct {
	size   int64
	native session.Native
}
