package plan

import (
	"fmt"
	"slices"

	"github.com/agentform/agentform/session"
)

// Neighbor returns the recorded session that works in a wanted session's directory,
// or "". Worktrees and clones are not shared.
func Neighbor(w session.Spec, records []session.Record) session.Address {
	if w.Workspace.Mode != session.InPlace && w.Workspace.Mode != session.Plain {
		return ""
	}
	for _, r := range records {
		if r.Address != w.Address && r.Tree.Path == w.Workspace.Path && r.Location != (session.Location{}) {
			return r.Address
		}
	}
	return ""
}

// sharedDirectories returns a warning for each new session in a directory where
// another one works or is created.
func sharedDirectories(changes []Change) []session.Diagnostic {
	in := map[string][]session.Record{} // by directory
	stays := func(r session.Record) { in[r.Tree.Path] = append(in[r.Tree.Path], r) }
	for _, c := range changes {
		if c.Before != nil && !slices.Contains([]Action{Delete, Stop, Forget}, c.Action) {
			stays(*c.Before)
		}
	}
	var told []session.Diagnostic
	for _, c := range changes {
		if c.Action != Create && c.Action != Replace || c.After == nil {
			continue
		}
		if other := Neighbor(*c.After, in[c.After.Workspace.Path]); other != "" {
			told = append(told, session.Diagnostic{Code: string(ReasonShared), Severity: session.Warning, Address: c.Address,
				Summary: fmt.Sprintf("%s works in the same directory as %s", c.Address, other),
				Detail:  fmt.Sprintf("both agents edit %s\nto give a session its own worktree, omit its workspace mode", c.After.Workspace.Path)})
		}
		stays(session.Record{Address: c.Address, Location: session.Location{Runtime: c.After.Runtime.Kind}, Tree: session.WorkspaceState{Path: c.After.Workspace.Path}})
	}
	return told
}
