package sessionfile

import (
	"errors"
	"io/fs"
	"time"

	"github.com/agentform/agentform/session"
)

// Searched is one place where a run's session file was looked for, and what is
// there.
type Searched struct {
	Pattern string
	Err     error // why the place could not be searched; fs.ErrNotExist: it does not exist
	Files   []Candidate
	Chosen  string // the path of the run's file; empty: none of them is it
}

// Candidate is a file that matches a pattern, with what its beginning tells.
type Candidate struct {
	Path         string
	Written      time.Time
	Dir          string // in which the conversation was held; empty: the file does not say
	Conversation string
	StartedAt    time.Time // zero: the file does not say
}

// Search returns where the session file of a run is looked for and the files there,
// the newest first.
func Search(a session.Agent, of session.Lookup) []Searched {
	r := &Reader{runs: map[string]*run{}, heads: map[string]head{}}
	open := openFiles(of.Process)
	var all []Searched
	for _, pattern := range a.Files(of) {
		s := Searched{Pattern: pattern}
		p, err := openPlace(pattern, of.Home)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fs.ErrNotExist
			}
			s.Err = err
			all = append(all, s)
			continue
		}
		for _, f := range p.files() {
			h := r.head(a, p, f)
			s.Files = append(s.Files, Candidate{p.path(f), f.info.ModTime(), h.Dir, h.Conversation, h.StartedAt})
		}
		if which := r.pick(a, p, of, open); which != nil {
			s.Chosen = p.path(*which)
		}
		p.close()
		all = append(all, s)
	}
	return all
}
