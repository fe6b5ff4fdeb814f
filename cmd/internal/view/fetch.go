package view

import (
	"io"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Fetched is the result of fetch for one session.
type Fetched struct {
	Address session.Address `json:"address"`
	Branch  string          `json:"branch"`
	Ref     string          `json:"ref"`     // of the branch in the repository
	Fetched bool            `json:"fetched"` // false: it works in the repository itself
	Commit  string          `json:"commit"`  // empty: nothing was fetched
	Moved   bool            `json:"moved"`   // the ref was changed or created
	Ahead   int             `json:"ahead"`   // commits that no other ref of the repository has
}

// FetchedLines writes the results of fetch, one session a line.
func FetchedLines(w io.Writer, s Style, all []Fetched) error {
	p := &page{Style: s}
	for _, f := range all {
		head := p.paint(bold, string(f.Address)+":") + " "
		switch {
		case !f.Fetched:
			p.line(head, "nothing to fetch: ", p.paint(noInk, f.Branch), " is in a worktree of this repository")
		case !f.Moved:
			p.line(head, p.paint(noInk, f.Ref), " is already at ", abbreviated(f.Commit))
		default:
			ahead := ""
			if f.Ahead > 0 {
				ahead = ", " + plaintext.Count(f.Ahead, "new commit")
			}
			p.line(head, "fetched ", p.paint(noInk, f.Branch), " to ", p.paint(noInk, f.Ref), " at ", abbreviated(f.Commit), ahead)
		}
	}
	return p.flush(w)
}

func abbreviated(commit string) string { return commit[:min(7, len(commit))] }

// FetchedJSON writes the results of fetch as one document.
func FetchedJSON(w io.Writer, all []Fetched) error {
	return document(w, "sessions", wire.List(all))
}
