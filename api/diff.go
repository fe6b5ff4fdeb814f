package api

import "github.com/agentform/agentform/session"

// DiffDocument is what a session changed, as diff --json has it, with the text of the diff.
type DiffDocument struct {
	Format    string          `json:"format_version"`
	Address   session.Address `json:"address"`
	Branch    string          `json:"branch"`
	Workspace string          `json:"workspace"`
	Base      string          `json:"base"`       // a branch, tag or commit; empty: HEAD
	MergeBase string          `json:"merge_base"` // a commit
	Ahead     int             `json:"ahead"`      // commits that the base lacks
	Files     []DiffFile      `json:"files"`
	Patch     string          `json:"patch"`     // as git diff prints it, at most 1 MiB
	Truncated bool            `json:"truncated"` // of the patch
}

// DiffFile is a file that differs.
type DiffFile struct {
	Path    string `json:"path"`
	OldPath string `json:"old_path,omitempty"`
	Change  string `json:"change"` // added, modified, deleted, renamed, untracked, …
	Added   *int   `json:"added"`  // lines; null: the file is binary
	Removed *int   `json:"removed"`
}
