package apply

import (
	"context"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// Git creates, reads and removes workspaces. HostGit is the real one.
type Git struct {
	// Look reads a workspace's branch, without a process if possible.
	Look func(path string) session.Checkout
	// LookClone is Look for a directory in which no git may be run.
	LookClone func(path string) session.Checkout
	// AddWorktree creates a worktree on a branch, and the branch at base if it does not
	// exist; made reports that. A failure leaves nothing.
	AddWorktree func(ctx context.Context, repo, path, branch, base string) (made bool, err error)
	// RemoveWorktree removes a worktree if no work is lost, or returns a *git.RiskError.
	// The branch remains.
	RemoveWorktree func(ctx context.Context, repo, path string) error
	// AtRisk returns what would be lost with a worktree, also if its directory is gone.
	AtRisk func(ctx context.Context, path, repo string) (git.Risk, error)
	// AddClone creates a clone with one branch for the owner (nil: the current user). A
	// failure leaves nothing.
	AddClone func(ctx context.Context, repo, path, branch, base string, owner *git.Owner) (made bool, err error)
	// RemoveClone removes a clone if no work is lost, or returns a *git.RiskError; git
	// runs git in it.
	RemoveClone func(ctx context.Context, path, repo string, git git.Runner) error
	// Tip returns the commit of a branch of the checkout at path, of a clone without running
	// git in it. If it is nil, commits are not recorded.
	Tip func(path, branch string, clone bool) (string, error)
	// Identity returns the committer of a repository as environment variables.
	Identity func(ctx context.Context, repo string) (map[string]string, error)
}

// HostGit returns the git of this machine.
func HostGit() Git {
	return Git{
		Look: git.Look, AddWorktree: git.AddWorktree, RemoveWorktree: git.RemoveWorktree, AtRisk: git.AtRisk,
		LookClone: git.LookClone, AddClone: git.AddClone, RemoveClone: git.RemoveClone,
		Identity: git.Identity, Tip: git.BranchTip,
	}
}
