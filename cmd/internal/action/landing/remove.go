package landing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Stopped reports whether a session's desired state is stopped.
func Stopped(r session.Record) bool { return plan.Desired(r) == session.Stopped }

// Remove removes a session whose work is in its base, with its workspace and branch. destroy
// carries out the plan.
func Remove(ctx context.Context, p *project.Project, l *land.Lander, d land.Landed, destroy func(reconcile.Planned) error) (c view.Cleanup, err error) {
	r, repo := l.Record, l.Record.Tree.Repo
	// If this process is killed, the ref shows the next run what to delete.
	if err := git.Mark(ctx, repo, l.Ref, d.Commit); err != nil {
		return c, err
	}
	// Whether it is declared depends on the values of variables, which the next apply has.
	made, err := reconcile.Only(ctx, p, p.Request(plan.Options{Destroy: true, RemoveClean: true, KeepLanded: r.Origin == session.FromManifest}), r.Address)
	if err != nil {
		return c, err
	}
	if err := destroy(made); err != nil {
		return c, err
	}
	c.Stopped, c.Removed = true, true
	c.Tree = r.Tree.Created && !exists(r.Tree.Path)
	if l.Held != nil {
		kept, err := l.Held(ctx)
		if err != nil {
			return c, err
		}
		c.Tree = r.Tree.Created && !kept
	}
	if r.Tree.Mode != session.Clone && c.Tree {
		if err := git.DeleteRef(ctx, repo, "refs/heads/"+d.Branch, d.Commit); err != nil {
			c.Kept = fmt.Sprintf("branch %s is kept: %v", d.Branch, err)
		}
		c.Branch = c.Kept == ""
	}
	if r.Tree.Created && !c.Tree {
		c.Kept = "its workspace and its branch are kept: " + r.Tree.Path
	} else if c.Kept == "" {
		if err := git.DeleteRef(ctx, repo, l.Ref, d.Commit); err != nil {
			return c, err
		}
	}
	if at, declared := p.Manifest.Ranges[r.Address]; declared {
		c.File, c.Line = at.Filename, at.Start.Line
		if !strings.Contains(string(r.Address), "[") { // otherwise the block has other sessions, too
			if !filepath.IsAbs(at.Filename) {
				at.Filename = filepath.Join(p.Dir, at.Filename)
			}
			c.Source = config.Source(at)
		}
	}
	return c, nil
}

// FinishRemoval deletes the branches of a session that a killed land has already removed. It calls
// done for each. found reports whether there is one.
func FinishRemoval(ctx context.Context, p *project.Project, typed string, done func(land.Landed, view.Cleanup) error) (found bool, err error) {
	address, err := choose.New(typed)
	if err != nil {
		return false, nil
	}
	prefix := git.TakenRefs + config.WorkspaceName(address) + "/"
	refs, err := git.Refs(ctx, p.Manifest.Root, prefix)
	if err != nil || len(refs) == 0 {
		return false, nil //nolint:nilerr // without a repository there is nothing to go on with
	}
	for _, ref := range refs {
		d := land.Landed{Address: address, Branch: strings.TrimPrefix(ref.Name, prefix), Commit: ref.Commit}
		deleted, err := git.DeleteMerged(ctx, p.Manifest.Root, ref, d.Branch)
		if err != nil {
			return true, fmt.Errorf("%s was removed, and its branch %s is kept: %w", address, d.Branch, err)
		}
		if err := done(d, view.Cleanup{Branch: deleted}); err != nil {
			return true, err
		}
	}
	return true, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
