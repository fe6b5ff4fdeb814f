package plan

import (
	"fmt"

	"github.com/agentform/agentform/session"
)

// OffBranch returns why a workspace is not known to be on a branch; empty: it is on it.
func OffBranch(co session.Checkout, branch string) Reason {
	switch {
	case co.Err != nil:
		return ReasonUnreadable
	case !co.Exists:
		return ReasonWorkspaceGone
	case !co.Git || co.Branch == "" || co.Branch != branch:
		return ReasonBranchMismatch
	}
	return ""
}

// checkWorkspace compares a recorded session's workspace with the declared branch.
// settled reports that a person has brought it to a newly declared one.
func checkWorkspace(j *join, r *session.Record, w *session.Spec, replacing bool) (settled bool, problems []session.Diagnostic) {
	tree := r.Tree
	co := j.in.World.Checkouts[tree.Path]
	interrupted := r.Intent == session.Creating || r.Intent == session.Removing
	if tree.Path == "" || (interrupted || replacing) && !co.Exists || r.Intent == session.Creating && co.Partial {
		return false, nil
	}
	at := fmt.Sprintf("workspace %s is ", tree.Path)
	fault := func(detail string, fix session.Remedy) (bool, []session.Diagnostic) {
		return false, []session.Diagnostic{fixable(fix, ReasonBranchMismatch, "branch mismatch", at+detail)}
	}
	fix := func(code session.RemedyCode) session.Remedy { return switchBranch(code, j.in.World, co, w) }
	switch off := OffBranch(co, w.Branch); {
	case off == ReasonUnreadable:
		return false, []session.Diagnostic{unreadable(w.Address, tree.Path, co)}
	case off == ReasonWorkspaceGone:
		// Not git worktree prune: it removes the commits of submodules, which a
		// replacement keeps.
		gone := fix(session.RemedyReplaceSession)
		if to := movedTo(j, r); to != "" {
			gone.Code, gone.HolderPath = session.RemedyMoveWorktree, to
		}
		return false, []session.Diagnostic{fixable(gone, ReasonWorkspaceGone, "workspace is gone", at+"gone"+onBranch(tree.Branch))}
	case tree.Mode == session.Plain:
		return false, nil
	case off == "":
		return tree.Branch != w.Branch, nil
	case !co.Git:
		return fault(fmt.Sprintf("no longer a git checkout, manifest declares %q", w.Branch), fix(session.RemedyRestoreCheckout))
	case co.Branch == "":
		return fault(fmt.Sprintf("%s, manifest declares %q", position(co), w.Branch), fix(session.RemedySwitchDetached))
	case co.Branch == tree.Branch && w.Workspace.Path != tree.Path:
		return false, nil // a new branch gets a new directory
	case co.Branch == tree.Branch:
		return fault(fmt.Sprintf("on %q, manifest now declares %q, and its path is fixed", co.Branch, w.Branch), fix(session.RemedySwitchDeclared))
	}
	return fault(fmt.Sprintf("on %q, manifest declares %q", co.Branch, w.Branch), fix(session.RemedySwitch))
}

// movedTo returns where git has the worktree of a session whose directory is gone; "": nowhere.
func movedTo(j *join, r *session.Record) string {
	tree := r.Tree
	for _, h := range j.in.World.Worktrees[tree.Repo] {
		if tree.Mode == session.Worktree && h.Branch == tree.Branch && !h.Prunable && h.Path != tree.Repo && holderOf(j, h.Path) == "" {
			return h.Path
		}
	}
	return ""
}

// keepPath returns what is wanted, in the workspace that the session has: a default path is
// named after address and branch, and either may have changed.
func keepPath(r *session.Record, w *session.Spec, settled bool) *session.Spec {
	was, now := r.Spec.Workspace, w.Workspace
	if was.Explicit || now.Explicit || r.Tree.Path == "" || r.Tree.Path == now.Path ||
		r.Tree.Mode != now.Mode || r.Tree.Repo != now.Repo || r.Tree.Branch != w.Branch && !settled {
		return w
	}
	kept := *w
	kept.Workspace.Path = r.Tree.Path
	return &kept
}

// switchBranch returns the remedy of a workspace that is not on its branch, with
// the other worktree that has the branch. A missing branch has remedies of its own.
func switchBranch(code session.RemedyCode, world session.World, co session.Checkout, w *session.Spec) session.Remedy {
	fix := session.Remedy{Code: code, Address: w.Address, Path: co.Path, Branch: w.Branch,
		InContainer: !w.Runtime.Traits().HostGit && w.Workspace.Mode == session.Clone}
	for _, h := range world.Worktrees[w.Workspace.Repo] {
		if h.Branch == w.Branch && h.Path != co.Path && fix.HolderPath == "" {
			fix.HolderPath = h.Path
		}
	}
	switch co.BranchGone {
	case "":
	case w.Branch:
		fix.Code, fix.Commit = session.RemedyRestoreBranch, short(co.Head)
	default: // nothing there has to be kept
		fix.Code = session.RemedySwitch
	}
	return fix
}

func creatable(j *join, w *session.Spec) []session.Diagnostic {
	var problems []session.Diagnostic
	if l, ok := j.taken(w.Address); ok {
		problems = append(problems, nameTaken(w.Address, l))
	}
	path := w.Workspace.Path
	co := j.in.World.Checkouts[path]
	occupied := func(code session.RemedyCode, detail string) *session.Diagnostic {
		d := fixable(session.Remedy{Code: code, Address: w.Address, Holder: inherited(j, w)}, ReasonPathOccupied, "workspace path is occupied", detail)
		return &d
	}
	var d *session.Diagnostic
	switch mode := w.Workspace.Mode; {
	case co.Err != nil:
		unread := unreadable(w.Address, path, co)
		d = &unread
	case mode == session.InPlace && !co.Git:
		d = occupied("", fmt.Sprintf("workspace %s is not a git checkout", path))
	case mode == session.InPlace && co.Branch != w.Branch:
		d = offBranch(j, w, co, "is")
	case mode == session.Worktree:
		d = worktree(j, w, co, occupied)
	case mode == session.Clone:
		d = clone(j, w, co, occupied)
	}
	if d != nil {
		problems = append(problems, *d)
	}
	return problems
}

func unreadable(a session.Address, path string, co session.Checkout) session.Diagnostic {
	return problem(a, ReasonUnreadable, "workspace cannot be read", fmt.Sprintf("workspace %s: %v", path, co.Err))
}

func nameTaken(a session.Address, l session.Live) session.Diagnostic {
	if l.Spec != nil { // this data directory has its run
		return fixable(session.Remedy{Code: session.RemedyRebuildState, Address: a}, ReasonNameTaken, "session belongs to a lost state", fmt.Sprintf(
			"it is in %s, and its state is lost (lineage %s)", where(l.Location), l.Mark.Project))
	}
	id := l.Location.Runtime + ":" + l.Location.Name
	if l.Location.Traits().Server != "" {
		id = l.Location.Runtime + ":" + l.Location.Socket + "/" + l.Location.Name
	}
	return fixable(session.Remedy{Code: session.RemedyAdoptForeign, Address: a, ID: id}, ReasonNameTaken, "name is taken",
		fmt.Sprintf("a %s with this name exists and is not managed by agentform", where(l.Location)))
}

// worktree returns what prevents the use of a session's worktree.
func worktree(j *join, w *session.Spec, co session.Checkout, occupied func(code session.RemedyCode, detail string) *session.Diagnostic) *session.Diagnostic {
	path := w.Workspace.Path
	// git's list is only read when a workspace changes.
	r := j.records[w.Address]
	registered := r != nil && r.Tree.Mode == session.Worktree && r.Tree.Path == path && r.Tree.Repo == w.Workspace.Repo
	for _, h := range j.in.World.Worktrees[w.Workspace.Repo] {
		registered = registered || h.Path == path && !h.Prunable
		if h.Branch != w.Branch || h.Path == path {
			continue
		}
		fix := session.Remedy{Code: session.RemedyFreeBranch, Address: w.Address, Repo: w.Workspace.Repo}
		if h.Prunable {
			fix.Code = session.RemedyPruneWorktree
		} else if holder := holderOf(j, h.Path); holder != "" {
			fix = heldBy(j, holder, w)
		}
		d := fixable(fix, ReasonBranchHeld, "branch is checked out elsewhere",
			fmt.Sprintf("branch %q is checked out in %s, and git allows a branch in one worktree only", w.Branch, h.Path))
		return &d
	}
	switch {
	case !co.Exists || co.Empty || co.Partial && registered: // an incomplete worktree is made again
		return nil
	case !co.Git || !registered:
		return occupied(session.RemedyMovePath, fmt.Sprintf("%s already exists and is not a worktree of %s", path, w.Workspace.Repo))
	case co.Branch != w.Branch:
		return offBranch(j, w, co, "already exists,")
	}
	return nil
}

func holderOf(j *join, path string) session.Address {
	for a, r := range j.records {
		if r.Tree.Path == path {
			return a
		}
	}
	return ""
}

// heldBy returns the remedy of a branch that a recorded session holds.
func heldBy(j *join, holder session.Address, w *session.Spec) session.Remedy {
	held, own, next := j.records[holder], j.records[w.Address], j.wanted[holder]
	fix := session.Remedy{Code: session.RemedyHolderStays, Address: w.Address, Holder: holder,
		Repo: w.Workspace.Repo, Branch: w.Branch, HolderPath: held.Tree.Path}
	switch {
	case next == nil && own == nil && !j.in.ByHand:
		fix.Code = session.RemedyHolderRemoved
	case next == nil && own != nil && !j.in.ByHand:
		fix.Code = session.RemedyMoveHolder
	case next != nil && own == nil && next.Branch != held.Tree.Branch:
		fix.Code = session.RemedyHolderMoves
	case next != nil && own != nil && next.Branch == own.Tree.Branch && own.Tree.Mode == session.Worktree && next.Branch != held.Tree.Branch:
		fix.Code, fix.Path, fix.HolderBranch = session.RemedySwapBranches, own.Tree.Path, next.Branch
	}
	return fix
}

// inherited returns the removed session whose workspace a new session is to take.
func inherited(j *join, w *session.Spec) session.Address {
	for _, a := range j.addresses {
		if r := j.records[a]; r != nil && inherits(j, w, r) {
			return a
		}
	}
	return ""
}

func inherits(j *join, w *session.Spec, r *session.Record) bool {
	return r.Tree.Path == w.Workspace.Path && j.wanted[r.Address] == nil && j.records[w.Address] == nil && !j.in.ByHand
}

// successor returns the wanted session that cannot start because it needs the
// branch or the workspace of a removed one.
func successor(j *join, r *session.Record) session.Address {
	for _, a := range j.addresses {
		w := j.wanted[a]
		if w != nil && inherits(j, w, r) && len(creatable(j, w)) > 0 {
			return a
		}
		if w == nil || w.Workspace.Mode != session.Worktree || w.Branch != r.Tree.Branch || w.Workspace.Repo != r.Tree.Repo || w.Workspace.Path == r.Tree.Path {
			continue
		}
		for _, h := range j.in.World.Worktrees[w.Workspace.Repo] {
			if h.Branch == w.Branch && h.Path == r.Tree.Path && !h.Prunable {
				return a
			}
		}
	}
	return ""
}

// clone returns what prevents the use of a session's clone. A declared path belongs to a
// person unless it is recorded.
func clone(j *join, w *session.Spec, co session.Checkout, occupied func(code session.RemedyCode, detail string) *session.Diagnostic) *session.Diagnostic {
	path := w.Workspace.Path
	r := j.records[w.Address]
	own := !w.Workspace.Explicit || r != nil && r.Tree.Mode == session.Clone && r.Tree.Path == path
	switch {
	case !co.Exists || co.Empty:
		return nil
	case !own && inherited(j, w) != "":
		return occupied(session.RemedyDestroyHolder, path+" already exists")
	case !co.Git || !own:
		return occupied(session.RemedyMovePath, path+" already exists and is not a clone that agentform made")
	case co.Branch != w.Branch:
		return offBranch(j, w, co, "already exists,")
	}
	return nil
}

// offBranch is the problem of an existing workspace that is not on its branch.
func offBranch(j *join, w *session.Spec, co session.Checkout, is string) *session.Diagnostic {
	fix := switchBranch(session.RemedySwitch, j.in.World, co, w)
	fix.Renamed = inherited(j, w)
	d := fixable(fix, ReasonBranchMismatch, "branch mismatch",
		fmt.Sprintf("workspace %s %s %s, manifest declares %q", w.Workspace.Path, is, position(co), w.Branch))
	return &d
}

func position(co session.Checkout) string {
	switch {
	case co.BranchGone != "":
		return fmt.Sprintf("on branch %q, which does not exist", co.BranchGone)
	case co.Branch == "":
		return "detached at " + short(co.Head)
	}
	return fmt.Sprintf("on %q", co.Branch)
}

func onBranch(b string) string {
	if b == "" {
		return ""
	}
	return fmt.Sprintf(" (it was on %q)", b)
}

func short(commit string) string { return commit[:min(len(commit), 9)] }
