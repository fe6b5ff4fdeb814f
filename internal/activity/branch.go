package activity

import (
	"slices"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// Astray returns the event that a workspace is on another branch than recorded,
// unless the history has it: once for each branch found.
func Astray(rec session.Record, found, detail string, past []history.Event) []history.Event {
	for _, e := range slices.Backward(past) {
		if e.Kind == history.BranchRestored {
			break
		}
		if e.Kind == history.BranchMismatch {
			if e.New == found && e.Old == rec.Tree.Branch {
				return nil
			}
			break
		}
	}
	return []history.Event{{Kind: history.BranchMismatch, Address: rec.Address, ID: rec.ID, Run: rec.Run.ID,
		Old: rec.Tree.Branch, New: found, Detail: detail}}
}
