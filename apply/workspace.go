package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/session"
)

// workspaces creates and removes the workspaces of sessions.
type workspaces struct {
	config   *Applier
	runtimes *runtimes
	environs *environments
	// removeAll removes workspaces in which nothing would be lost, also where on_destroy = keep.
	removeAll bool
}

// checkout returns the workspace as it is on disk. It runs no git in a clone.
func (w *workspaces) checkout(t session.WorkspaceState) session.Checkout {
	if t.Mode == session.Clone || t.Mode == session.Plain {
		return w.config.Git.LookClone(t.Path)
	}
	return w.config.Git.Look(t.Path)
}

// planned returns the workspace that is about to be created. It already counts as created by
// agentform, in case of a kill right after. So does one below the data directory.
func (w *workspaces) planned(ctx context.Context, rec session.Record) session.WorkspaceState {
	s := rec.Spec
	t := session.WorkspaceState{Path: s.Workspace.Path, Mode: s.Workspace.Mode, Repo: s.Workspace.Repo, Branch: s.Branch}
	exists := w.checkoutOf(ctx, rec, t).Exists
	if old := rec.Tree; old.Path == t.Path && old.Mode == t.Mode && old.Branch == t.Branch && exists {
		t.Created, t.Made, t.Ready = old.Created, old.Made, old.Ready
		return t
	}
	t.Created = t.Mode != session.InPlace && (!exists || madeIn(w.config.DataDir, s, t.Path))
	return t
}

// prepare ensures that the workspace exists, is on its branch, and is set up. It never
// checks out a branch in a workspace that exists.
func (w *workspaces) prepare(ctx context.Context, e *entry) error {
	t := &e.rec.Tree
	if err := w.create(ctx, e.rec, t); err != nil {
		return err
	}
	setup := e.rec.Spec.Workspace.Setup
	if t.Ready || len(setup) == 0 {
		t.Ready = true
		return nil
	}
	if err := w.setUp(ctx, e.rec, setup); err != nil {
		return err
	}
	t.Ready = true
	if err := e.save(); err != nil {
		return err
	}
	e.emit(history.Event{Kind: history.WorkspaceReady, Detail: t.Path})
	return nil
}

// create creates a workspace, or accepts one that exists and is on its branch: it was
// kept, or created by an apply that was interrupted.
func (w *workspaces) create(ctx context.Context, rec session.Record, t *session.WorkspaceState) error {
	s := rec.Spec
	h, err := w.holder(s)
	if err != nil {
		return err
	}
	if madeAtStart(h, rec) {
		return nil
	}
	var created bool
	switch seen := w.checkoutOf(ctx, rec, *t); {
	case h != nil && seen.Err != nil:
		return seen.Err
	case h != nil && (!seen.Exists || seen.Empty || t.Mode == session.Plain):
		if created, err = w.createElsewhere(ctx, h, rec); err != nil && ctx.Err() == nil && t.Mode == session.Clone {
			// What a killed apply had started there may have made it meanwhile.
			if onBranch(w.checkoutOf(ctx, rec, *t), t.Branch) == nil {
				err = nil
			}
		}
	case t.Mode == session.Plain:
		return createPlain(s, t.Path)
	case t.Mode == session.InPlace, (t.Mode == session.Worktree || t.Mode == session.Clone) && seen.Exists && !seen.Empty && (t.Mode == session.Clone || !seen.Partial):
		return onBranch(seen, t.Branch)
	case t.Mode == session.Worktree:
		if err := os.MkdirAll(filepath.Dir(t.Path), 0o755); err != nil {
			return err
		}
		created, err = w.config.Git.AddWorktree(ctx, t.Repo, t.Path, t.Branch, s.Workspace.Base)
	case t.Mode == session.Clone:
		var owner git.Owner
		if owner, err = git.OwnerOf(s.Runtime.Docker); err != nil {
			return err
		}
		created, err = w.config.Git.AddClone(ctx, t.Repo, t.Path, t.Branch, s.Workspace.Base, &owner)
	default:
		return fmt.Errorf("workspace mode %q is not supported", t.Mode)
	}
	t.Made = t.Made || err == nil && created
	return err
}

func createPlain(s session.Spec, path string) error {
	_, err := os.Lstat(path)
	if exists := err == nil; exists {
		return os.MkdirAll(path, 0o755) // fails if it is not a directory
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	owner, err := git.OwnerOf(s.Runtime.Docker)
	if err != nil || owner.UID == os.Geteuid() {
		return err
	}
	if err := os.Lchown(path, owner.UID, owner.GID); err != nil {
		return fmt.Errorf("give it to user %s: %w (only root may give files away)", s.Runtime.Docker.User, err)
	}
	return nil
}

// onBranch returns an error if a checkout is not what the manifest declares.
func onBranch(seen session.Checkout, branch string) error {
	switch {
	case seen.Err != nil:
		return seen.Err
	case !seen.Exists:
		return fmt.Errorf("%s does not exist", seen.Path)
	case !seen.Git:
		return fmt.Errorf("%s already exists and is not a git checkout", seen.Path)
	case seen.BranchGone != "":
		return fmt.Errorf("branch mismatch: %s is on branch %q, which does not exist", seen.Path, seen.BranchGone)
	case seen.Branch == "":
		return fmt.Errorf("branch mismatch: %s is detached at %s, %q is declared", seen.Path, seen.Head, branch)
	case seen.Branch != branch:
		return fmt.Errorf("branch mismatch: %s is on %q, %q is declared", seen.Path, seen.Branch, branch)
	}
	return nil
}

// remove removes a workspace that the manifest wants removed, if agentform created it and no work
// would be lost. Otherwise it keeps the workspace and reports why. The error is that of an
// unreachable runtime, which the next apply retries.
func (w *workspaces) remove(ctx context.Context, e *entry) error {
	t := e.rec.Tree
	if !t.Created {
		return nil
	}
	if h, err := w.holder(e.rec.Spec); err == nil && h != nil {
		return w.removeFrom(ctx, h, e)
	}
	if seen := w.checkout(t); !seen.Exists {
		if t.Mode == session.Worktree && seen.Err == nil {
			w.reportGone(ctx, e)
		}
		return nil
	}
	why := "on_destroy = keep"
	if e.rec.Spec.Workspace.OnDestroy == session.RemoveClean || w.removeAll {
		var err error
		if why, err = kept(ctx, w.removeClean(ctx, e.rec.Spec, t)); err != nil {
			return err
		}
	}
	if why != "" {
		e.emit(history.Event{Kind: history.WorkKept, Detail: t.Path + " is kept: " + why})
		return nil
	}
	// The session's directory of workspaces, if this was its last one.
	if parent := filepath.Dir(t.Path); madeIn(w.config.DataDir, e.rec.Spec, parent) {
		_ = os.Remove(parent) // fails if it is not empty
	}
	return nil
}

// kept returns why a workspace is kept that could not be removed, or an error if that is not
// known, as its runtime cannot be reached or the apply was interrupted.
func kept(ctx context.Context, err error) (why string, unknown error) {
	var risky *git.RiskError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil || errors.Is(err, session.ErrUnreachable):
		return "", err
	case errors.As(err, &risky):
		return "it holds " + risky.Risk.String(), nil
	}
	return err.Error(), nil
}

// removeFrom is remove for a workspace that a runtime holds. What was to hold one that is not
// there goes, too.
func (w *workspaces) removeFrom(ctx context.Context, h session.WorkspaceHolder, e *entry) error {
	t := e.rec.Tree
	held, unused, unlisted := hasWorkspace(ctx, h, t.Path)
	gone := unlisted == nil && !held
	var why string
	var err error
	switch removes := e.rec.Spec.Workspace.OnDestroy == session.RemoveClean || w.removeAll; {
	case removes && gone, unused:
		why, err = kept(ctx, h.RemoveWorkspace(ctx, t.Path))
	case removes:
		why, err = kept(ctx, w.removeElsewhere(ctx, h, e.rec))
	case !gone:
		why = "on_destroy = keep"
	}
	if why != "" {
		e.emit(history.Event{Kind: history.WorkKept, Detail: fmt.Sprintf("%s (%s) is kept: %s", t.Path, h.WorkspaceName(t.Path), why)})
	}
	return err
}

// reportGone reports what the repository still holds of a worktree whose directory is gone.
func (w *workspaces) reportGone(ctx context.Context, e *entry) {
	t := e.rec.Tree
	if risk, err := w.config.Git.AtRisk(ctx, t.Path, t.Repo); err == nil && risk.Any() {
		e.emit(history.Event{Kind: history.WorkKept, Detail: fmt.Sprintf("the directory %s is gone, and its repository still has %s (until: git -C %s worktree prune)", t.Path, risk, t.Repo)})
	}
}

func (w *workspaces) removeClean(ctx context.Context, s session.Spec, t session.WorkspaceState) error {
	switch t.Mode {
	case session.Worktree:
		return w.config.Git.RemoveWorktree(ctx, t.Repo, t.Path)
	case session.Clone:
		runner, err := w.runner(s, t.Path)
		if err != nil {
			return err
		}
		return w.config.Git.RemoveClone(ctx, t.Path, t.Repo, runner)
	}
	// Without git, it is not known what would be lost.
	if os.Remove(t.Path) != nil {
		return errNotEmpty
	}
	return nil
}

// errNotEmpty is why a workspace without git is kept.
var errNotEmpty = errors.New("it is not empty")

// runner returns how git is run in a session's clone: in a container, if the session was
// in one.
func (w *workspaces) runner(s session.Spec, path string) (git.Runner, error) {
	c, err := w.runtimes.container(s)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return git.Here(path), nil
	}
	return func(ctx context.Context, args ...string) (string, error) {
		argv := slices.Concat([]string{"git"}, git.ArgsElsewhere(args...))
		return c.Run(ctx, s, path, argv, []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0"})
	}, nil
}

// madeIn reports whether a workspace is where agentform alone creates it: in the data directory, or
// on its session's volume.
func madeIn(dataDir string, s session.Spec, path string) bool {
	return strings.HasPrefix(path, layout.Data{Dir: s.Runtime.Traits().DataDir(dataDir)}.Workspaces()+string(filepath.Separator))
}
