package view

import (
	"fmt"
	"io"

	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
)

// Refreshed is what became of refreshing one session.
type Refreshed struct {
	land.Refreshed
	Err error
}

// RefreshedDetail says what was done, for the history.
func RefreshedDetail(x land.Refreshed) string {
	how := "merged into"
	if x.Method == land.Rebase {
		how = "is the new base of"
	}
	return fmt.Sprintf("%s of %s %s %s", plaintext.Count(x.Commits, "commit"), x.Base, how, x.Branch)
}

// RefreshedLine writes what became of refreshing one session, or with dryRun what would.
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
		p.prose(2, head, p.paint(yellow, "conflicts"), " with ", commits, " of ", base, " in ", p.paint(noInk, few(x.Conflicts)), end)
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

// RefreshedJSON writes what became of refreshing sessions as one document.
func RefreshedJSON(w io.Writer, all []Refreshed, dryRun bool) error {
	return document(w, "dry_run", dryRun, "refreshes", refreshes(all))
}

func refreshes(all []Refreshed) []wire.Object {
	list := make([]wire.Object, len(all))
	for i, x := range all {
		list[i] = wire.Object{"address", x.Address, "branch", x.Branch, "base", x.Base, "method", x.Method, "done", x.Done, "already", x.Already,
			"commits", x.Commits, "branch_was", x.From, "branch_is", x.To, "conflicts", wire.List(x.Conflicts), "sent", x.Sent, "error", failure(x.Err)}
	}
	return list
}
