package plan

import (
	"fmt"
	"strings"

	"github.com/agentform/agentform/session"
)

// workspace holds a recorded session's workspace against the branch that is
// declared. A mismatch is an error: agentform never checks anything out by
// itself. settled says that a person has already brought the workspace to a
// newly declared branch, which only has to be recorded.
func (s *scene) workspace(r *session.Record, w *session.Spec, replacing bool) (settled bool, problems []session.Diagnostic) {
	tree := r.Tree
	co := s.in.World.Checkouts[tree.Path]
	if tree.Path == "" || (r.Intent == session.Creating || r.Intent == session.Removing) && !co.Exists {
		return false, nil
	}
	if replacing && !co.Exists || r.Intent == session.Creating && co.Partial {
		return false, nil
	}
	fault := func(detail, remedy string) (bool, []session.Diagnostic) {
		return false, []session.Diagnostic{problem(w.Address, ReasonBranchMismatch, "branch mismatch", detail+"\n"+remedy)}
	}
	switch {
	case co.Err != nil:
		return false, []session.Diagnostic{problem(w.Address, ReasonUnreadable, "workspace cannot be read", fmt.Sprintf("workspace %s: %v", tree.Path, co.Err))}
	case !co.Exists:
		// Not git worktree prune: it takes the submodules' commits along, which a
		// replacement keeps and names.
		remedy := fmt.Sprintf("bring it back, or make the session anew: agentform apply --replace %s", shell(string(w.Address)))
		return false, []session.Diagnostic{problem(w.Address, ReasonWorkspaceGone, "workspace is gone",
			fmt.Sprintf("workspace %s is gone%s\n%s", tree.Path, onBranch(tree.Branch), remedy))}
	case tree.Mode == session.Plain:
		return false, nil
	case !co.Git:
		return fault(fmt.Sprintf("workspace %s is no git checkout any more, manifest declares %q", tree.Path, w.Branch),
			"bring the checkout back and plan again")
	case co.BranchGone != "":
		return fault(fmt.Sprintf("workspace %s is %s, manifest declares %q", tree.Path, at(co), w.Branch), s.restoreBranch(tree.Path, w, co))
	case co.Branch == "":
		return fault(fmt.Sprintf("workspace %s is detached at %s, manifest declares %q", tree.Path, short(co.Head), w.Branch),
			"to mend it, keeping the commits there: "+s.mend(tree.Path, w))
	case co.Branch == w.Branch:
		return tree.Branch != w.Branch, nil
	case co.Branch == tree.Branch && w.Workspace.Path != tree.Path:
		return false, nil // a new branch is a new folder
	case co.Branch == tree.Branch:
		return fault(fmt.Sprintf("workspace %s is on %q, manifest now declares %q, and its path is fixed", tree.Path, co.Branch, w.Branch),
			"agentform never switches branches by itself: "+s.mend(tree.Path, w))
	}
	return fault(fmt.Sprintf("workspace %s is on %q, manifest declares %q", tree.Path, co.Branch, w.Branch),
		"to mend it: "+s.mend(tree.Path, w))
}

// stays is what is wanted, in the workspace that the session has. A path that
// nobody declared is named after the address and the branch; one that was made
// under another address, or that a person brought to its branch (settled), is the
// session's nevertheless: made anew elsewhere, it would find its branch held there.
func stays(r *session.Record, w *session.Spec, settled bool) *session.Spec {
	was, now := r.Spec.Workspace, w.Workspace
	if was.Explicit || now.Explicit || r.Tree.Path == "" || r.Tree.Path == now.Path ||
		r.Tree.Mode != now.Mode || r.Tree.Repo != now.Repo || r.Tree.Branch != w.Branch && !settled {
		return w
	}
	stays := *w
	stays.Workspace.Path = r.Tree.Path
	return &stays
}

// WorkspacePaths tells the folder in which a wanted session works: the recorded one
// where a plan would leave it there, be it on record under an address that one of
// the moves gives up; else the declared one.
func WorkspacePaths(records []session.Record, moves []Move) func(session.Spec) string {
	s := scene{in: Input{Moves: moves}, records: make(map[session.Address]*session.Record, len(records))}
	for i := range records {
		s.records[records[i].Address] = &records[i]
	}
	s.move()
	return func(w session.Spec) string {
		if r := s.records[w.Address]; r != nil {
			return stays(r, &w, false).Workspace.Path
		}
		return w.Workspace.Path
	}
}

// mend is the command that brings a workspace to its branch, or who is in the
// way.
func (s *scene) mend(path string, w *session.Spec) string {
	if w.Runtime.Kind == "docker" && w.Workspace.Mode == session.Clone {
		// No git of this machine is to run in there.
		return fmt.Sprintf("in its container, agentform attach %s: git switch %s", shell(string(w.Address)), shell(w.Branch))
	}
	for _, h := range s.in.World.Worktrees[w.Workspace.Repo] {
		if h.Branch == w.Branch && h.Path != path {
			return fmt.Sprintf("%q is held by %s; free it there first, then git -C %s switch %s", w.Branch, h.Path, shell(path), shell(w.Branch))
		}
	}
	return fmt.Sprintf("git -C %s switch %s", shell(path), shell(w.Branch))
}

// restoreBranch is the command that makes a branch again which is gone under its
// workspace.
func (s *scene) restoreBranch(path string, w *session.Spec, co session.Checkout) string {
	if co.BranchGone != w.Branch {
		return "to fix it: " + s.mend(path, w)
	}
	commit := co.Head
	if commit == "" {
		commit = "COMMIT"
	}
	command := fmt.Sprintf("git branch %s %s", shell(w.Branch), short(commit))
	if w.Runtime.Kind == "docker" && w.Workspace.Mode == session.Clone {
		return fmt.Sprintf("to restore it: in its container, agentform attach %s: %s", shell(string(w.Address)), command)
	}
	return "to restore it: git -C " + shell(path) + strings.TrimPrefix(command, "git")
}

// creatable holds what is to be created against what stands there already.
func (s *scene) creatable(w *session.Spec) []session.Diagnostic {
	var problems []session.Diagnostic
	if l, ok := s.taken(w.Address); ok {
		problems = append(problems, nameTaken(w.Address, l))
	}
	co := s.in.World.Checkouts[w.Workspace.Path]
	if co.Err != nil {
		return append(problems, problem(w.Address, ReasonUnreadable, "workspace cannot be read", fmt.Sprintf("workspace %s: %v", w.Workspace.Path, co.Err)))
	}
	switch w.Workspace.Mode {
	case session.InPlace:
		return append(problems, s.inPlace(w, co)...)
	case session.Worktree:
		return append(problems, s.worktree(w, co)...)
	case session.Clone:
		return append(problems, s.clone(w, co)...)
	}
	return problems
}

func nameTaken(a session.Address, l session.Live) session.Diagnostic {
	if l.Spec != nil { // this data directory has its run
		return problem(a, ReasonNameTaken, "session belongs to a lost state", fmt.Sprintf(
			"it runs in %s, and the state that had it is lost with its lineage %s\nto restore the state: agentform state rebuild", where(l.Place), l.Mark.Project))
	}
	return problem(a, ReasonNameTaken, "name is taken", fmt.Sprintf("a %s that is not ours stands there; end or rename it, or take it over: agentform adopt %s %s", where(l.Place), a.Block(), outside(l.Place)))
}

// inPlace: the repository's own checkout must be on the branch already.
func (s *scene) inPlace(w *session.Spec, co session.Checkout) []session.Diagnostic {
	switch {
	case co.Branch == w.Branch && co.Git:
		return nil
	case !co.Git:
		return []session.Diagnostic{problem(w.Address, ReasonPathOccupied, "workspace path is occupied", fmt.Sprintf("workspace %s is no git checkout", w.Workspace.Path))}
	}
	return []session.Diagnostic{s.elsewhere(w, co, "is")}
}

// worktree: a folder that is there already must be the repository's worktree
// on that branch (kept from an earlier session), and nobody else may hold the
// branch.
func (s *scene) worktree(w *session.Spec, co session.Checkout) []session.Diagnostic {
	path := w.Workspace.Path
	// Its own workspace needs no look at git's list, which is only there when
	// something about a workspace changes.
	r := s.records[w.Address]
	registered := r != nil && r.Tree.Mode == session.Worktree && r.Tree.Path == path && r.Tree.Repo == w.Workspace.Repo
	for _, h := range s.in.World.Worktrees[w.Workspace.Repo] {
		registered = registered || h.Path == path && !h.Prunable
		if h.Branch != w.Branch || h.Path == path {
			continue
		}
		remedy := "free it there (another branch, or git worktree remove), or declare another branch"
		if h.Prunable {
			remedy = fmt.Sprintf("that folder is gone: bring it back, or forget it, with the commits of its submodules: git -C %s worktree prune", shell(w.Workspace.Repo))
		} else if holder := s.holder(h.Path); holder != "" {
			remedy = s.heldBy(holder, w, remedy)
		}
		return []session.Diagnostic{problem(w.Address, ReasonBranchHeld, "branch is held elsewhere",
			fmt.Sprintf("branch %q is checked out in %s, and git lets one worktree hold a branch\n%s", w.Branch, h.Path, remedy))}
	}
	if !co.Exists || co.Empty || co.Partial && registered {
		return nil // what was left half-made is made again
	}
	if !co.Git || !registered {
		return []session.Diagnostic{problem(w.Address, ReasonPathOccupied, "workspace path is occupied",
			fmt.Sprintf("%s is there already and is no worktree of %s\nmove it away, or give the session another workspace path", path, w.Workspace.Repo))}
	}
	if co.Branch != w.Branch {
		return []session.Diagnostic{s.elsewhere(w, co, "is there already,")}
	}
	return nil
}

// heldBy says what to do about a branch that a session on record holds.
func (s *scene) heldBy(holder session.Address, w *session.Spec, remedy string) string {
	held, own := s.records[holder], s.records[w.Address]
	next := s.wanted[holder]
	switch {
	case next == nil && own == nil && !s.in.ByHand:
		return fmt.Sprintf("%s\nelse end it, and free the branch: agentform destroy --target %s && git -C %s worktree remove %s",
			ifRenamed(holder, w.Address), shell(string(holder)), shell(w.Workspace.Repo), shell(held.Tree.Path))
	case next == nil && own != nil && !s.in.ByHand:
		return fmt.Sprintf("it is the workspace of %s, which the manifest no longer has, and which stays as it is\nif it was renamed, move %s to its new address first, then: agentform state mv %s %s\nelse end it, and free the branch: agentform destroy --target %s && git -C %s worktree remove %s",
			holder, w.Address, shell(string(holder)), shell(string(w.Address)), shell(string(holder)), shell(w.Workspace.Repo), shell(held.Tree.Path))
	case next != nil && own == nil && next.Branch != held.Tree.Branch:
		return fmt.Sprintf("it is the workspace of %s, which is to be on another branch\nif it was renamed: agentform state mv %s %s\nelse %s", holder, shell(string(holder)), shell(string(w.Address)), remedy)
	case next != nil && own != nil && next.Branch == own.Tree.Branch && own.Tree.Mode == session.Worktree && next.Branch != held.Tree.Branch:
		mine, theirs := shell(own.Tree.Path), shell(held.Tree.Path)
		return fmt.Sprintf("it is the workspace of %s: the two sessions swap their branches, and agentform switches none by itself\nto swap them: git -C %s switch --detach && git -C %s switch %s && git -C %s switch %s",
			holder, mine, theirs, shell(next.Branch), mine, shell(w.Branch))
	}
	return fmt.Sprintf("it is the workspace of %s; %s", holder, remedy)
}

// ifRenamed returns what to do about the workspace of a session that the manifest no
// longer has, if that was renamed.
func ifRenamed(from, to session.Address) string {
	return fmt.Sprintf("it is the workspace of %s, which the manifest no longer has, and which stays as it is\nif it was renamed, write in the manifest:\nmoved {\n  from = %[1]s\n  to   = %s\n}", from, to)
}

// inherited returns the session on record whose workspace a session that is not on
// record is to take, and that the manifest no longer has; empty: there is none.
func (s *scene) inherited(w *session.Spec) session.Address {
	for _, a := range s.addresses() {
		if r := s.records[a]; r != nil && s.inherits(w, r) {
			return a
		}
	}
	return ""
}

func (s *scene) inherits(w *session.Spec, r *session.Record) bool {
	return r.Tree.Path == w.Workspace.Path && s.wanted[r.Address] == nil && s.records[w.Address] == nil && !s.in.ByHand
}

// successor returns the wanted session that cannot be created or replaced because a
// session which is no longer wanted holds its branch, or that is to take its workspace
// and cannot; empty: there is none.
func (s *scene) successor(r *session.Record) session.Address {
	for _, a := range s.addresses() {
		w := s.wanted[a]
		if w != nil && s.inherits(w, r) && len(s.creatable(w)) > 0 {
			return a
		}
		if w == nil || w.Workspace.Mode != session.Worktree || w.Branch != r.Tree.Branch || w.Workspace.Repo != r.Tree.Repo || w.Workspace.Path == r.Tree.Path {
			continue
		}
		for _, h := range s.in.World.Worktrees[w.Workspace.Repo] {
			if h.Branch == w.Branch && h.Path == r.Tree.Path && !h.Prunable {
				return a
			}
		}
	}
	return ""
}

// clone: what is there already must be a clone that was kept from an earlier
// session, on that branch. A folder that the manifest names is a person's, unless it
// is on record.
func (s *scene) clone(w *session.Spec, co session.Checkout) []session.Diagnostic {
	if !co.Exists || co.Empty {
		return nil
	}
	path := w.Workspace.Path
	r := s.records[w.Address]
	kept := !w.Workspace.Explicit || r != nil && r.Tree.Mode == session.Clone && r.Tree.Path == path
	if holder := s.inherited(w); !kept && holder != "" {
		return []session.Diagnostic{problem(w.Address, ReasonPathOccupied, "workspace path is occupied",
			fmt.Sprintf("%s is there already\n%s\nelse end it, and move its workspace away: agentform destroy --target %s", path, ifRenamed(holder, w.Address), shell(string(holder))))}
	}
	if !co.Git || !kept {
		return []session.Diagnostic{problem(w.Address, ReasonPathOccupied, "workspace path is occupied",
			fmt.Sprintf("%s is there already and is no clone that agentform made\nmove it away, or give the session another workspace path", path))}
	}
	if co.Branch != w.Branch {
		return []session.Diagnostic{s.elsewhere(w, co, "is there already,")}
	}
	return nil
}

// elsewhere reports that a workspace which is to be taken is not on its branch.
func (s *scene) elsewhere(w *session.Spec, co session.Checkout, is string) session.Diagnostic {
	path, remedy := w.Workspace.Path, ""
	if co.BranchGone != "" {
		remedy = s.restoreBranch(path, w, co)
	} else {
		remedy = "to mend it: " + s.mend(path, w)
	}
	if holder := s.inherited(w); holder != "" {
		remedy = ifRenamed(holder, w.Address) + "\n" + remedy
	}
	return problem(w.Address, ReasonBranchMismatch, "branch mismatch",
		fmt.Sprintf("workspace %s %s %s, manifest declares %q\n%s", path, is, at(co), w.Branch, remedy))
}

// at is what a checkout is on, in words.
func at(co session.Checkout) string {
	if co.BranchGone != "" {
		return fmt.Sprintf("on branch %q, which does not exist", co.BranchGone)
	}
	if co.Branch == "" {
		return "detached at " + short(co.Head)
	}
	return fmt.Sprintf("on %q", co.Branch)
}

// holder is the session on record that works in that path.
func (s *scene) holder(path string) session.Address {
	for a, r := range s.records {
		if r.Tree.Path == path {
			return a
		}
	}
	return ""
}

func onBranch(b string) string {
	if b == "" {
		return ""
	}
	return fmt.Sprintf(" (it was on %q)", b)
}

func short(commit string) string {
	if len(commit) > 9 {
		return commit[:9]
	}
	return commit
}

// shell is a text as one word of a command line that a person can paste.
func shell(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,@%", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
