package view

import (
	"io"

	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/plaintext"
)

// RefreshedLine writes the outcome of refreshing one session, with dryRun a preview.
func RefreshedLine(w io.Writer, s Style, x land.Refreshed, dryRun bool) error {
	p := &page{Style: s}
	head := p.paint(bold, string(x.Address)+":") + " "
	branch, base, commits := p.paint(noInk, x.Branch), p.paint(noInk, x.Base), plaintext.Count(x.Commits, "commit")
	switch {
	case x.Already:
		p.prose(2, head, branch, " has all of ", base, " already")
	case len(x.Conflicts) > 0:
		end := "; nothing was changed"
		if x.Sent {
			end = "; its agent is asked to merge them"
		} else if dryRun {
			end = ""
		}
		p.prose(2, head, p.paint(yellow, "conflicts"), " with ", commits, " of ", base, " in ", p.paint(noInk, few(x.Conflicts, 2)), end)
	case dryRun && x.Method == land.Rebase:
		p.prose(2, head, "would rebase ", branch, " onto ", commits, " of ", base)
	case dryRun:
		p.prose(2, head, "would merge ", commits, " of ", base, " into ", branch)
	case x.Method == land.Rebase:
		p.prose(2, head, branch, " is rebased onto ", commits, " of ", base, ", now at ", abbreviated(x.To))
	default:
		p.prose(2, head, commits, " of ", base, " merged into ", branch, ", now at ", abbreviated(x.To))
	}
	return p.flush(w)
}
