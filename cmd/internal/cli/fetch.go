package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/action/workspace"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
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
	p, s, err := a.State()
	if err != nil {
		return err
	}
	named, err := choose.All(choose.Addresses(nil, s.Sessions), typed)
	if err != nil {
		return err
	}
	var all []view.Fetched
	var errs []error
	for _, address := range named {
		f, err := workspace.Fetch(ctx, p, s.Lineage, *project.Find(s.Sessions, address))
		if err != nil {
			errs = append(errs, target.OfSession(address, err))
			continue
		}
		all = append(all, f)
	}
	if a.JSON {
		err = view.FetchedJSON(a.Out, all)
	} else {
		err = view.FetchedLines(a.Out, a.OutStyle(), all)
	}
	return errors.Join(append(errs, err)...)
}
