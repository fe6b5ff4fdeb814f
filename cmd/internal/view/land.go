package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// LandStep writes the step that comes next.
func LandStep(w io.Writer, s Style, a session.Address, step land.Step) error {
	p := &page{Style: s}
	p.prose(2, p.paint(bold, string(a)+":"), " ", p.paint(noInk, step.Detail))
	return p.flush(w)
}

// LandPlan writes the steps and results of landing in advance.
func LandPlan(w io.Writer, s Style, f land.Facts, steps []land.Step) error {
	p := &page{Style: s}
	head := p.paint(bold, string(f.Address)+":") + " "
	if len(steps) == 0 {
		p.prose(2, head, p.paint(noInk, f.Base), " has all of ", p.paint(noInk, f.Branch), " already")
		return p.flush(w)
	}
	p.line(head, "would")
	for _, step := range steps {
		p.prose(4, "  ", p.paint(noInk, step.Detail))
	}
	return p.flush(w)
}

// Landed writes the result of landing.
func Landed(w io.Writer, s Style, d land.Landed) error {
	p := &page{Style: s}
	head := p.paint(bold, string(d.Address)+":") + " "
	branch, base := p.paint(noInk, d.Branch), p.paint(noInk, d.Base)
	switch {
	case d.Already:
		p.prose(2, head, base, " has all of ", branch, " already")
	case d.Open:
		p.prose(2, head, "pull request: ", p.paint(noInk, d.URL))
	case d.Remote != "":
		p.prose(2, head, branch, " is pushed to ", p.paint(noInk, d.Remote))
		note := "open a pull request against " + base + " there"
		if d.URL != "" {
			note = "open a pull request: " + p.paint(noInk, d.URL)
		}
		if d.Note != "" {
			note += p.paint(dim, " ("+plaintext.OneLine(d.Note)+")")
		}
		p.prose(4, "  ", note)
	default:
		verb := map[land.Method]string{land.Merge: "merged into", land.Squash: "squashed into", land.Rebase: "rebased onto"}[d.Method]
		moved := ""
		if d.Moved != "" {
			moved = " (checked out at " + p.paint(noInk, d.Moved) + ")"
		}
		p.prose(2, head, fmt.Sprintf("%s is %s %s: %s, now at %s%s", branch, verb, base, plaintext.Count(d.Commits, "commit"), abbreviated(d.To), moved))
	}
	return p.flush(w)
}

// Cleanup is what land removed afterwards.
type Cleanup struct {
	Stopped bool   `json:"stopped"`        // the session
	Removed bool   `json:"removed"`        // the session, from the state
	Tree    bool   `json:"workspace"`      // removed
	Branch  bool   `json:"branch_deleted"` // of the session
	Kept    string `json:"kept"`           // what was kept, and why
	File    string `json:"declared_in"`    // the manifest's file, if it still declares the session
	Line    int    `json:"declared_line"`
	Source  string `json:"declaration"` // the block to delete; empty: it has other sessions, too, or none
}

// Cleaned writes what was removed after landing, and what to do about the declaration.
func Cleaned(w io.Writer, s Style, d land.Landed, c Cleanup) error {
	p := &page{Style: s}
	head := p.paint(bold, string(d.Address)+":") + " "
	if c.Branch {
		p.prose(2, head, "branch ", p.paint(noInk, d.Branch), " deleted (it was at ", abbreviated(d.Commit), ")")
	}
	if c.Kept != "" {
		p.prose(2, head, p.paint(yellow, c.Kept))
	}
	if !c.Removed || c.File == "" {
		return p.flush(w)
	}
	where := p.paint(noInk, fmt.Sprintf("%s:%d", c.File, c.Line))
	how := "delete its block there (" + where + ")"
	if _, instance := d.Address.Key(); instance {
		how = "take it out of the block's for_each or count (" + where + ")"
	}
	p.prose(2, head, "stays in the state as landed, and no apply creates it again; ", how, " when you like")
	return p.flush(w)
}

// LandJSON writes the result of landing, or with dryRun its preview, as one document.
func LandJSON(w io.Writer, d land.Landed, c Cleanup, dryRun bool) error {
	d.Steps = wire.List(d.Steps)
	return document(w, "dry_run", dryRun, "result", d, "cleanup", c)
}

// Landing writes the order in which sessions land, the resulting trees, and what does not land.
func Landing(w io.Writer, s Style, all []*land.Member) error {
	p := &page{Style: s}
	if len(all) == 0 {
		p.line("Nothing to land.")
		return p.flush(w)
	}
	var rows [][]cell
	for _, m := range land.Landing(all) {
		rows = append(rows, []cell{{text: fmt.Sprint(len(rows)+1) + "."}, {string(m.Address), bold}, {text: plaintext.Count(len(m.Commits), "commit")},
			{text: m.Branch}, {text: m.Base}, {text: abbreviated(m.Tree)}})
	}
	if rows != nil {
		p.table("", []column{{title: "", right: true}, {title: "SESSION", min: 20}, {title: "COMMITS"}, {title: "BRANCH", min: 12}, {title: "BASE"}, {title: "TREE"}}, rows)
	}
	for _, m := range all {
		if m.Refused != nil {
			p.line()
			why := strings.TrimLeft(strings.TrimPrefix(m.Refused.Error(), string(m.Address)), ": ")
			p.prose(2, p.paint(yellow, "!"), " ", p.paint(bold, string(m.Address)+":"), " ", p.paint(noInk, why))
		}
	}
	p.line()
	p.line(fmt.Sprintf("Landing: %d to land, %d left out.", len(rows), len(all)-len(rows)))
	return p.flush(w)
}
