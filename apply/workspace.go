package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// plannedTree is the workspace that is about to be made. It says already that
// agentform makes it, when nothing is there yet: an agentform that is killed
// right after making it must not forget whose it is. What stands among
// agentform's own workspaces was made by it before.
func (j *job) plannedTree() session.WorkspaceState {
	s := j.rec.Spec
	t := session.WorkspaceState{Path: s.Workspace.Path, Mode: s.Workspace.Mode, Repo: s.Workspace.Repo, Branch: s.Branch}
	there := j.look(t).Exists
	if old := j.rec.Tree; old.Path == t.Path && old.Mode == t.Mode && old.Branch == t.Branch && there {
		t.Created, t.Made, t.Ready = old.Created, old.Made, old.Ready
		return t
	}
	t.Created = t.Mode != session.InPlace && (!there || j.run.owns(t.Path))
	return t
}

// workspace sees to it that the workspace is there, on its branch, and set up.
// It never checks anything out where something is.
func (j *job) workspace(ctx context.Context) error {
	t := &j.rec.Tree
	var err error
	switch t.Mode {
	case session.Worktree:
		err = j.worktree(ctx)
	case session.InPlace:
		err = onBranch(j.run.Git.Look(t.Path), t.Branch)
	case session.Clone:
		err = j.clone(ctx)
	case session.Plain:
		err = j.plain()
	default:
		err = fmt.Errorf("workspace mode %q is not supported", t.Mode)
	}
	if err != nil {
		return err
	}
	setup := j.rec.Spec.Workspace.Setup
	if t.Ready || len(setup) == 0 {
		t.Ready = true
		return nil
	}
	if err := j.setUp(ctx, setup); err != nil {
		return err
	}
	t.Ready = true
	if err := j.save(); err != nil {
		return err
	}
	j.tell(history.Event{Kind: history.WorkspaceReady, Detail: t.Path})
	return nil
}

// worktree makes the worktree, or takes the one that stands there on the
// branch: kept from before, or made by an apply that was interrupted.
func (j *job) worktree(ctx context.Context) error {
	t := &j.rec.Tree
	seen := j.run.Git.Look(t.Path)
	if seen.Exists && !seen.Empty && !seen.Partial {
		return onBranch(seen, t.Branch)
	}
	if err := os.MkdirAll(filepath.Dir(t.Path), 0o755); err != nil {
		return err
	}
	made, err := j.run.Git.AddWorktree(ctx, t.Repo, t.Path, t.Branch, j.rec.Spec.Workspace.Base)
	if err != nil {
		return err
	}
	t.Made = t.Made || made
	return nil
}

// onBranch says how a checkout is not what the manifest declares.
func onBranch(seen session.Checkout, branch string) error {
	switch {
	case seen.Err != nil:
		return seen.Err
	case !seen.Exists:
		return fmt.Errorf("%s is not there", seen.Path)
	case !seen.Git:
		return fmt.Errorf("%s is there already and is no git checkout", seen.Path)
	case seen.BranchGone != "":
		return fmt.Errorf("branch mismatch: %s is on branch %q, which does not exist", seen.Path, seen.BranchGone)
	case seen.Branch == "":
		return fmt.Errorf("branch mismatch: %s is detached at %s, %q is declared", seen.Path, seen.Head, branch)
	case seen.Branch != branch:
		return fmt.Errorf("branch mismatch: %s is on %q, %q is declared", seen.Path, seen.Branch, branch)
	}
	return nil
}

// dropWorkspace removes a workspace that the manifest says to remove, if
// agentform made it and nothing would be lost by it; else it stays, and that is
// told.
func (j *job) dropWorkspace(ctx context.Context) {
	t, wanted := j.rec.Tree, j.rec.Spec.Workspace.OnDestroy
	if !t.Created {
		return
	}
	if co := j.look(t); !co.Exists {
		if t.Mode == session.Worktree && co.Err == nil {
			j.tellOfGone(ctx)
		}
		return
	}
	why := "on_destroy is keep"
	if wanted == session.RemoveClean {
		why = j.removeClean(ctx)
	}
	if why == "" {
		j.removeEmptyParent()
		return
	}
	j.tell(history.Event{Kind: history.WorkKept, Detail: t.Path + " stays: " + why})
}

// tellOfGone records what the repository still holds of a worktree whose folder is gone.
// Once the session is removed from the state, nothing else names it.
func (j *job) tellOfGone(ctx context.Context) {
	t := j.rec.Tree
	if risk, err := j.run.Git.AtRisk(ctx, t.Path, t.Repo); err == nil && risk.Any() {
		j.tell(history.Event{Kind: history.WorkKept, Detail: fmt.Sprintf("the folder %s is gone, and its repository still has %s (until: git -C %s worktree prune)", t.Path, risk, t.Repo)})
	}
}

// removeClean removes the workspace or says why not.
func (j *job) removeClean(ctx context.Context) (why string) {
	t := j.rec.Tree
	var err error
	switch t.Mode {
	case session.Worktree:
		err = j.run.Git.RemoveWorktree(ctx, t.Repo, t.Path)
	case session.Clone:
		var runner git.Runner
		if runner, err = j.runner(); err == nil {
			err = j.run.Git.RemoveClone(ctx, t.Path, t.Repo, runner)
		}
	default:
		// Nothing tells what would be lost in a folder without git.
		if err := os.Remove(t.Path); err != nil {
			return "it is not empty"
		}
		return ""
	}
	var risky *git.RiskError
	switch {
	case errors.As(err, &risky):
		return "it holds " + risky.Risk.String()
	case err != nil:
		return err.Error()
	}
	return ""
}

// removeEmptyParent removes the session's folder among the workspaces, when the
// last of its branches' folders is gone.
func (j *job) removeEmptyParent() {
	if parent := filepath.Dir(j.rec.Tree.Path); j.run.owns(parent) {
		_ = os.Remove(parent) // refuses if it is not empty, which is as well
	}
}

// owns reports whether a path is among the workspaces that only agentform makes.
func (r *run) owns(path string) bool { return madeIn(r.DataDir, path) }

// madeIn reports whether a path is among the workspaces of a data directory.
func madeIn(dataDir, path string) bool {
	return strings.HasPrefix(path, filepath.Join(dataDir, "workspaces")+string(filepath.Separator))
}
