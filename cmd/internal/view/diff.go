package view

import (
	"io"
	"strings"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Diff is the difference between a session's workspace and its merge base with its base.
type Diff struct {
	Address   session.Address `json:"address"`
	Branch    string          `json:"branch"`
	Workspace string          `json:"workspace"`
	Base      string          `json:"base"`       // a branch, tag or commit; empty: HEAD
	MergeBase string          `json:"merge_base"` // a commit
	Ahead     int             `json:"ahead"`      // commits missing in the base
	Files     []api.DiffFile  `json:"files"`
}

// DiffFiles converts files for documents.
func DiffFiles(files []git.DiffFile) []api.DiffFile {
	all := []api.DiffFile{}
	for _, f := range files {
		x := api.DiffFile{Path: f.Path, OldPath: f.OldPath, Change: f.Change}
		if f.Added >= 0 {
			x.Added, x.Removed = &f.Added, &f.Removed
		}
		all = append(all, x)
	}
	return all
}

// DiffJSON writes the diffs of sessions as one document.
func DiffJSON(w io.Writer, all []Diff) error {
	return document(w, "sessions", wire.List(all))
}

// DiffTitle returns the line above the diff of one of several sessions.
func DiffTitle(s Style, a session.Address, branch, base string) string {
	p := &page{Style: s}
	words := []string{string(a), branch}
	if base != "" {
		words = append(words, "against "+base)
	}
	p.line(p.paint(bold, plaintext.OneLine(strings.Join(words, "  "))))
	return p.String()
}
