package plan

import (
	"fmt"
	"strings"

	"github.com/agentform/agentform/session"
)

// checkWorkspace compares a recorded session's workspace with the declared branch.
// A mismatch is an error: agentform never checks anything out. settled reports that
// a person has brought the workspace to a newly declared branch.
func checkWorkspace(j *join, r *session.Record, w *session.Spec, replacing bool) (settled bool, problems []session.Diagnostic) {
	tree := r.Tree
	co := j.in.World.Checkouts[tree.Path]
	interrupted := r.Intent == session.Creating || r.Intent == session.Removing
	if tree.Path == "" || (interrupted || replacing) && !co.Exists || r.Intent == session.Creating && co.Partial {
		return false, nil
	}
	at := fmt.Sprintf("workspace %s is ", tree.Path)
	fault := func(detail, remedy string) (bool, []session.Diagnostic) {
		return false, []session.Diagnostic{problem(w.Address, ReasonBranchMismatch, "branch mismatch", at+detail+"\n"+remedy)}
	}
	switch {
	case co.Err != nil:
		return false, []session.Diagnostic{unreadable(w.Address, tree.Path, co)}
	case !co.Exists:
		// Not git worktree prune: it removes the commits of submodules, which a
		// replacement keeps.
		return false, []session.Diagnostic{problem(w.Address, ReasonWorkspaceGone, "workspace is gone",
			at+"gone"+onBranch(tree.Branch)+"\nbring it back, or make the session anew: agentform apply --replace "+shell(string(w.Address)))}
	case tree.Mode == session.Plain:
		return false, nil
	case !co.Git:
		return fault(fmt.Sprintf("no git checkout any more, manifest declares %q", w.Branch), "bring the checkout back and plan again")
	case co.BranchGone != "":
		return fault(fmt.Sprintf("%s, manifest declares %q", position(co), w.Branch), restoreBranch(j.in.World, tree.Path, w, co))
	case co.Branch == "":
		return fault(fmt.Sprintf("%s, manifest declares %q", position(co), w.Branch),
			"to mend it, keeping the commits there: "+switchBranch(j.in.World, tree.Path, w))
	case co.Branch == w.Branch:
		return tree.Branch != w.Branch, nil
	case co.Branch == tree.Branch && w.Workspace.Path != tree.Path:
		return false, nil // a new branch gets a new directory
	case co.Branch == tree.Branch:
		return fault(fmt.Sprintf("on %q, manifest now declares %q, and its path is fixed", co.Branch, w.Branch),
			"agentform never switches branches by itself: "+switchBranch(j.in.World, tree.Path, w))
	}
	return fault(fmt.Sprintf("on %q, manifest declares %q", co.Branch, w.Branch), "to mend it: "+switchBranch(j.in.World, tree.Path, w))
}

// keepPath returns what is wanted, in the workspace that the session has. A default
// path is named after address and branch; the session keeps one that was made under
// another address, or that a person brought to its branch (settled).
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

// switchBranch is the command that brings a workspace to its branch, or who holds it.
func switchBranch(world session.World, path string, w *session.Spec) string {
	if inContainer(w) {
		return fmt.Sprintf("in its container, agentform attach %s: git switch %s", shell(string(w.Address)), shell(w.Branch))
	}
	for _, h := range world.Worktrees[w.Workspace.Repo] {
		if h.Branch == w.Branch && h.Path != path {
			return fmt.Sprintf("%q is held by %s; free it there first, then git -C %s switch %s", w.Branch, h.Path, shell(path), shell(w.Branch))
		}
	}
	return fmt.Sprintf("git -C %s switch %s", shell(path), shell(w.Branch))
}

// inContainer reports whether git must run in the session's container only.
func inContainer(w *session.Spec) bool {
	return !w.Runtime.Traits().HostGit && w.Workspace.Mode == session.Clone
}

// restoreBranch is the command that recreates the missing branch of a workspace.
func restoreBranch(world session.World, path string, w *session.Spec, co session.Checkout) string {
	if co.BranchGone != w.Branch {
		return "to fix it: " + switchBranch(world, path, w)
	}
	commit := co.Head
	if commit == "" {
		commit = "COMMIT"
	}
	command := fmt.Sprintf("branch %s %s", shell(w.Branch), short(commit))
	if inContainer(w) {
		return fmt.Sprintf("to restore it: in its container, agentform attach %s: git %s", shell(string(w.Address)), command)
	}
	return "to restore it: git -C " + shell(path) + " " + command
}

// creatable returns what prevents the creation of a session.
func creatable(j *join, w *session.Spec) []session.Diagnostic {
	var problems []session.Diagnostic
	if l, ok := j.taken(w.Address); ok {
		problems = append(problems, nameTaken(w.Address, l))
	}
	path := w.Workspace.Path
	co := j.in.World.Checkouts[path]
	occupied := func(detail string) *session.Diagnostic {
		d := problem(w.Address, ReasonPathOccupied, "workspace path is occupied", detail)
		return &d
	}
	var d *session.Diagnostic
	switch mode := w.Workspace.Mode; {
	case co.Err != nil:
		unread := unreadable(w.Address, path, co)
		d = &unread
	case mode == session.InPlace && !co.Git:
		d = occupied(fmt.Sprintf("workspace %s is no git checkout", path))
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
		return problem(a, ReasonNameTaken, "session belongs to a lost state", fmt.Sprintf(
			"it runs in %s, and the state that had it is lost with its lineage %s\nto restore the state: agentform state rebuild", where(l.Place), l.Mark.Project))
	}
	id := "tmux:" + l.Place.Socket + "/" + l.Place.Name
	if l.Place.Container != "" {
		id = "docker:" + l.Place.Name
	}
	return problem(a, ReasonNameTaken, "name is taken", fmt.Sprintf("a %s that is not ours stands there; end or rename it, or take it over: agentform adopt %s %s", where(l.Place), a.Block(), id))
}

// worktree returns what prevents the use of a session's worktree. An existing
// directory must be the repository's worktree on the branch, and no other worktree
// may hold the branch.
func worktree(j *join, w *session.Spec, co session.Checkout, occupied func(detail string) *session.Diagnostic) *session.Diagnostic {
	path := w.Workspace.Path
	// git's list is there only when something about a workspace changes.
	r := j.records[w.Address]
	registered := r != nil && r.Tree.Mode == session.Worktree && r.Tree.Path == path && r.Tree.Repo == w.Workspace.Repo
	for _, h := range j.in.World.Worktrees[w.Workspace.Repo] {
		registered = registered || h.Path == path && !h.Prunable
		if h.Branch != w.Branch || h.Path == path {
			continue
		}
		remedy := "free it there (another branch, or git worktree remove), or declare another branch"
		if h.Prunable {
			remedy = fmt.Sprintf("that folder is gone: bring it back, or forget it, with the commits of its submodules: git -C %s worktree prune", shell(w.Workspace.Repo))
		} else if holder := holderOf(j, h.Path); holder != "" {
			remedy = heldBy(j, holder, w, remedy)
		}
		d := problem(w.Address, ReasonBranchHeld, "branch is held elsewhere",
			fmt.Sprintf("branch %q is checked out in %s, and git lets one worktree hold a branch\n%s", w.Branch, h.Path, remedy))
		return &d
	}
	switch {
	case !co.Exists || co.Empty || co.Partial && registered: // an incomplete worktree is made again
		return nil
	case !co.Git || !registered:
		return occupied(fmt.Sprintf("%s is there already and is no worktree of %s\nmove it away, or give the session another workspace path", path, w.Workspace.Repo))
	case co.Branch != w.Branch:
		return offBranch(j, w, co, "is there already,")
	}
	return nil
}

// holderOf returns the recorded session that works in a directory.
func holderOf(j *join, path string) session.Address {
	for a, r := range j.records {
		if r.Tree.Path == path {
			return a
		}
	}
	return ""
}

// heldBy says what to do about a branch that a recorded session holds.
func heldBy(j *join, holder session.Address, w *session.Spec, remedy string) string {
	held, own, next := j.records[holder], j.records[w.Address], j.wanted[holder]
	from, to := shell(string(holder)), shell(string(w.Address))
	switch {
	case next == nil && own == nil && !j.in.ByHand:
		return fmt.Sprintf("%s\nelse end it, and free the branch: agentform destroy --target %s && git -C %s worktree remove %s",
			ifRenamed(holder, w.Address), from, shell(w.Workspace.Repo), shell(held.Tree.Path))
	case next == nil && own != nil && !j.in.ByHand:
		return fmt.Sprintf("it is the workspace of %s, which the manifest no longer has, and which stays as it is\nif it was renamed, move %s to its new address first, then: agentform state mv %s %s\nelse end it, and free the branch: agentform destroy --target %s && git -C %s worktree remove %s",
			holder, w.Address, from, to, from, shell(w.Workspace.Repo), shell(held.Tree.Path))
	case next != nil && own == nil && next.Branch != held.Tree.Branch:
		return fmt.Sprintf("it is the workspace of %s, which is to be on another branch\nif it was renamed: agentform state mv %s %s\nelse %s", holder, from, to, remedy)
	case next != nil && own != nil && next.Branch == own.Tree.Branch && own.Tree.Mode == session.Worktree && next.Branch != held.Tree.Branch:
		mine, theirs := shell(own.Tree.Path), shell(held.Tree.Path)
		return fmt.Sprintf("it is the workspace of %s: the two sessions swap their branches, and agentform switches none by itself\nto swap them: git -C %s switch --detach && git -C %s switch %s && git -C %s switch %s",
			holder, mine, theirs, shell(next.Branch), mine, shell(w.Branch))
	}
	return fmt.Sprintf("it is the workspace of %s; %s", holder, remedy)
}

// ifRenamed says what to do about the workspace of a removed session, if it was
// renamed.
func ifRenamed(from, to session.Address) string {
	return fmt.Sprintf("it is the workspace of %s, which the manifest no longer has, and which stays as it is\nif it was renamed, write in the manifest:\nmoved {\n  from = %[1]s\n  to   = %s\n}", from, to)
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

// clone returns what prevents the use of a session's clone. An existing directory
// must be a clone that agentform made, on the branch. A declared path belongs to a
// person unless it is recorded.
func clone(j *join, w *session.Spec, co session.Checkout, occupied func(detail string) *session.Diagnostic) *session.Diagnostic {
	path := w.Workspace.Path
	r := j.records[w.Address]
	own := !w.Workspace.Explicit || r != nil && r.Tree.Mode == session.Clone && r.Tree.Path == path
	holder := inherited(j, w)
	switch {
	case !co.Exists || co.Empty:
		return nil
	case !own && holder != "":
		return occupied(fmt.Sprintf("%s is there already\n%s\nelse end it, and move its workspace away: agentform destroy --target %s", path, ifRenamed(holder, w.Address), shell(string(holder))))
	case !co.Git || !own:
		return occupied(fmt.Sprintf("%s is there already and is no clone that agentform made\nmove it away, or give the session another workspace path", path))
	case co.Branch != w.Branch:
		return offBranch(j, w, co, "is there already,")
	}
	return nil
}

// offBranch is the problem of an existing workspace that is not on its branch.
func offBranch(j *join, w *session.Spec, co session.Checkout, is string) *session.Diagnostic {
	path := w.Workspace.Path
	remedy := "to mend it: " + switchBranch(j.in.World, path, w)
	if co.BranchGone != "" {
		remedy = restoreBranch(j.in.World, path, w, co)
	}
	if holder := inherited(j, w); holder != "" {
		remedy = ifRenamed(holder, w.Address) + "\n" + remedy
	}
	d := problem(w.Address, ReasonBranchMismatch, "branch mismatch",
		fmt.Sprintf("workspace %s %s %s, manifest declares %q\n%s", path, is, position(co), w.Branch, remedy))
	return &d
}

// position says what a checkout is on.
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

// shell quotes a string as one word of a command line.
func shell(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,@%", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
