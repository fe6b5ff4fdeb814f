package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

func fetchCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "fetch ADDR...",
		Short: "Fetch branches from container clones",
		Long: `Fetches the branch of a session that works in a clone of its own into the repository, as
refs/agentform/NAME/BRANCH. Your own branches are not touched, and no hook in the clone is
run. Sessions in a worktree or in place need no fetch. A clone of a repository on a server is
fetched into the repository that holds the manifest.`,
		Example: `  agentform fetch api
  git diff main...refs/agentform/api-5e897c/agents/api`,
		RunE: func(c *cobra.Command, args []string) error { return runFetch(c.Context(), a, args) },
	}
}

func runFetch(ctx context.Context, a *app, typed []string) error {
	_, s, err := a.openState()
	if err != nil {
		return err
	}
	named, err := resolveAll(addresses(nil, s.Sessions), typed)
	if err != nil {
		return err
	}
	var all []view.Fetched
	var errs []error
	for _, address := range named {
		f, err := fetchBranch(ctx, a, s.Lineage, *project.Find(s.Sessions, address))
		if err != nil {
			errs = append(errs, ofSession(address, err))
			continue
		}
		all = append(all, f)
	}
	if a.globals.json {
		err = view.FetchedJSON(a.env.Stdout, all)
	} else {
		err = view.FetchedLines(a.env.Stdout, a.out(), all)
	}
	return errors.Join(append(errs, err)...)
}

func fetchBranch(ctx context.Context, a *app, lineage string, r session.Record) (view.Fetched, error) {
	t := r.Tree
	f := view.Fetched{Address: r.Address, Branch: t.Branch}
	if r.Spent() {
		return f, target.Spent(r)
	}
	switch t.Mode {
	case session.Plain, "":
		return f, errors.New("it works in a directory without git, so it has no branch")
	case session.Clone:
	default:
		f.Ref = "refs/heads/" + t.Branch
		return f, nil
	}
	if err := project.UseLocalRepo(a.open(), &r); err != nil {
		return f, err
	}
	t = r.Tree
	f.Ref = "refs/agentform/" + config.WorkspaceName(r.Address) + "/" + t.Branch
	v, err := volumeOf(a, lineage, r)
	if err != nil {
		return f, err
	}
	var got git.Fetched
	if v != nil {
		got, err = v.Fetch(ctx, t.Repo, t.Branch, f.Ref)
	} else {
		got, err = git.Fetch(ctx, t.Repo, t.Path, t.Branch, f.Ref)
	}
	f.Fetched, f.Commit, f.Moved, f.Ahead = true, got.Commit, got.Moved, got.Ahead
	return f, err
}

// volumeOf returns the workspace of a session that its runtime holds; nil: this machine sees
// the workspace.
func volumeOf(a *app, lineage string, r session.Record) (*git.Volume, error) {
	if r.Spec.Runtime.Traits().HostFiles {
		return nil, nil
	}
	rt, err := a.project.Reconciler(project.ToAct).Opened(lineage, r.Spec.Runtime)
	if err != nil {
		return nil, err
	}
	h, ok := rt.(session.WorkspaceHolder)
	if !ok {
		return nil, fmt.Errorf("runtime %s holds no workspaces", r.Spec.Runtime.Key())
	}
	v := git.VolumeOf(h, r)
	return &v, nil
}
