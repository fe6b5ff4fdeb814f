package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/leftover"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/prune"
	"github.com/agentform/agentform/cmd/internal/view"
)

func pruneCommand(a *app) *cobra.Command {
	var apply, approved, merged bool
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove unused worktrees and files",
		Long: `Shows the workspaces, runs, prompts, old shims and dead sockets that no session needs, and
the empty socket directories of projects that are gone; with --apply removes them.

A workspace is removed only if it has no uncommitted changes, untracked files or
unreferenced commits, also in worktrees and repositories below it; otherwise it is kept and
the reason shown. Files that git ignores are removed with it. Branches, histories and
transcripts are always kept, and so is what a running session needs, in the state or not.

A volume of a cluster or of a Docker engine elsewhere is inspected by git in it. It is
removed only if its commits are also in the repository here: fetch them first.

With --merged the branches of sessions that are gone are removed, too, if all their work is
in the branch of the repository's own checkout, in the default branch of its remote, in main
or in master, also after a squash or a rebase. These are the branches of removed workspaces,
and those that land and fetch took over. Fetch first what was merged elsewhere.`,
		Example: `  agentform prune
  agentform prune --apply
  agentform prune --auto-approve
  agentform prune --merged --apply`,
		RunE: func(c *cobra.Command, _ []string) error {
			if a.JSON && apply && !approved {
				return exit.Usage(c.CommandPath(), errors.New("--json cannot ask for approval: it needs --auto-approve"))
			}
			return runPrune(c.Context(), a, apply || approved, approved, merged)
		},
	}
	c.Flags().BoolVar(&apply, "apply", false, "remove after confirmation")
	c.Flags().BoolVar(&merged, "merged", false, "also remove merged branches of sessions that are gone")
	c.Flags().BoolVar(&approved, "auto-approve", false, "remove without confirmation")
	return c
}

func runPrune(ctx context.Context, a *app, apply, approved, merged bool) error {
	p, s, err := a.Optional()
	if err != nil {
		return err
	}
	found, err := leftover.Find(ctx, p, s, merged)
	if err != nil {
		return err
	}
	has := func(action prune.Action) bool {
		return slices.ContainsFunc(found, func(l prune.Leftover) bool { return l.Action == action })
	}
	removes := has(prune.Remove)
	if removes && apply && !approved {
		if err := view.Prune(a.Out, a.OutStyle(), found); err != nil {
			return err
		}
		if err := a.Confirm("Remove these?", a.Command+flagIf(merged, " --merged")+" --auto-approve"); err != nil {
			return err
		}
	}
	if removes && apply {
		if found, err = leftover.Remove(ctx, p, found, merged); err != nil {
			return err
		}
	}
	if a.JSON {
		err = view.PruneJSON(a.Out, found, removes && apply)
	} else {
		err = view.Prune(a.Out, a.OutStyle(), found)
	}
	switch {
	case err != nil:
		return err
	case has(prune.Failed):
		return exit.Error
	case removes && !apply && !a.JSON:
		fmt.Fprintln(a.Err, "\nNothing was removed. To remove it: agentform prune"+flagIf(merged, " --merged")+" --apply")
	}
	return nil
}

func flagIf(given bool, flag string) string {
	if given {
		return flag
	}
	return ""
}
