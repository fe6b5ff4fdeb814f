package apply

import (
	"context"

	"github.com/agentform/agentform/session"
)

// Git is what is done with workspaces.
type Git struct {
	// Look reads a workspace's branch, without a process.
	Look func(path string) session.Checkout
	// AddWorktree makes a worktree on a branch, and the branch at base if there
	// is none yet; made says so. It leaves nothing behind when it fails.
	AddWorktree func(ctx context.Context, repo, path, branch, base string) (made bool, err error)
	// AtRisk says in words what would be lost if the checkout were removed;
	// empty: nothing.
	AtRisk func(ctx context.Context, path, repo string) (string, error)
	// RemoveWorktree removes a worktree with which nothing is lost. The branch
	// stays.
	RemoveWorktree func(ctx context.Context, repo, path string) error
}
