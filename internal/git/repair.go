package git

import (
	"context"
	"fmt"
)

// RepairWorktrees makes a repository and its worktrees at the paths know each other
// again, after any of them was moved.
func RepairWorktrees(ctx context.Context, repo string, paths ...string) error {
	common, err := CommonDir(repo)
	if err != nil {
		return fmt.Errorf("repair the worktrees of %s: %w", repo, err)
	}
	release, err := hold(ctx, common)
	if err != nil {
		return fmt.Errorf("repair the worktrees of %s: %w", repo, err)
	}
	defer release()
	if _, err := run(ctx, repo, append([]string{"worktree", "repair"}, paths...)...); err != nil {
		return fmt.Errorf("repair the worktrees of %s: %w", repo, err)
	}
	return nil
}
