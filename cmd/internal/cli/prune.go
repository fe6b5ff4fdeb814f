package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/shim"
)

type pruneOptions struct{ apply, autoApprove bool }

func (a *app) pruneCommand() *cobra.Command {
	var o pruneOptions
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove what no session needs any more",
		Long: `Shows what is left of sessions that are no longer on record, and with --apply removes it:
clean workspaces, runs, prompts, old guests, and sockets that nobody listens on.

A workspace is removed only if nothing would be lost: no uncommitted change, no untracked
file, no commit that no branch holds, also in worktrees and repositories below it. Else it
is kept, and the reason is printed. Files that git ignores are removed with it. Branches
always stay, and so do the histories and transcripts. What a live session needs is kept, on
record or not.`,
		Example: `  agentform prune
  agentform prune --apply
  agentform prune --auto-approve`,
		Args:        arguments(0, 0),
		Annotations: withJSON(),
		RunE: func(c *cobra.Command, _ []string) error {
			if a.globals.json && o.apply && !o.autoApprove {
				return usageError{c.CommandPath(), errors.New("--json cannot ask for approval: it needs --auto-approve")}
			}
			return a.runPrune(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.apply, "apply", false, "remove it, after asking")
	c.Flags().BoolVar(&o.autoApprove, "auto-approve", false, "remove it, and do not ask")
	return c
}

func (a *app) runPrune(ctx context.Context, o pruneOptions) error {
	p, s, err := a.unmanifested()
	if err != nil {
		return err
	}
	found, err := a.leftovers(ctx, p, s)
	if err != nil {
		return err
	}
	goes := 0
	for _, l := range found {
		if l.Action == view.LeftToRemove {
			goes++
		}
	}
	if goes > 0 && o.apply && !o.autoApprove {
		if err := view.Prune(a.env.Stdout, a.out(), found); err != nil {
			return err
		}
		if err := a.confirm("Remove all that would be removed?", a.command+" --auto-approve"); err != nil {
			return err
		}
	}
	act := goes > 0 && (o.apply || o.autoApprove)
	if act {
		if found, err = a.removeLeftovers(ctx, p, found); err != nil {
			return err
		}
	}
	if a.globals.json {
		err = view.PruneJSON(a.env.Stdout, found, act)
	} else {
		err = view.Prune(a.env.Stdout, a.out(), found)
	}
	for _, l := range found {
		if err == nil && l.Action == view.LeftFailed {
			err = outcome(exitError)
		}
	}
	if err == nil && goes > 0 && !act && !a.globals.json {
		fmt.Fprintln(a.env.Stderr, "\nNothing was removed. To remove it: agentform prune --apply")
	}
	return err
}

// removeLeftovers removes, under the state's lock, what was approved and is left
// over still.
func (a *app) removeLeftovers(ctx context.Context, p *project, approved []view.Leftover) (_ []view.Leftover, err error) {
	store, err := openState(ctx, a, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	agreed := map[string]bool{}
	for _, l := range approved {
		agreed[l.Path] = l.Action == view.LeftToRemove
	}
	found, err := a.leftovers(ctx, p, store.State())
	if err != nil {
		return nil, err
	}
	for i := range found {
		l := &found[i]
		if l.Action != view.LeftToRemove || !agreed[l.Path] {
			continue
		}
		l.Action = view.LeftRemoved
		if err := removeLeftover(ctx, *l); err != nil {
			l.Action, l.Reason = view.LeftFailed, err.Error()
			if risky := (*git.RiskError)(nil); errors.As(err, &risky) {
				l.Action, l.Reason = view.LeftKept, "it holds "+risky.Risk.String()
			}
		}
	}
	return found, nil
}

func removeLeftover(ctx context.Context, l view.Leftover) error {
	switch l.Kind {
	case kindWorkspace:
		if co := lookUnused(l.Path); co.Git {
			if err := git.RemoveWorktree(ctx, co.Repo, l.Path); err != nil {
				return err
			}
		} else if err := os.Remove(l.Path); err != nil { // refuses if it is not empty
			return err
		}
		_ = os.Remove(filepath.Dir(l.Path)) // likewise: another branch's may be there
		return nil
	case kindRun:
		return shim.RemoveRun(l.Path)
	}
	return os.Remove(l.Path)
}
