package apply

import (
	"context"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// Git is what is done with workspaces. HostGit is the real one.
type Git struct {
	// Look reads a workspace's branch, without a process.
	Look func(path string) session.Checkout
	// AddWorktree makes a worktree on a branch, and the branch at base if there
	// is none yet; made says so. It leaves nothing behind when it fails.
	AddWorktree func(ctx context.Context, repo, path, branch, base string) (made bool, err error)
	// RemoveWorktree removes a worktree with which nothing is lost, and else
	// refuses with a *git.RiskError. The branch stays.
	RemoveWorktree func(ctx context.Context, repo, path string) error
}

// HostGit is the git of this machine.
func HostGit() Git {
	return Git{Look: git.Look, AddWorktree: git.AddWorktree, RemoveWorktree: git.RemoveWorktree}
}
