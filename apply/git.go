package apply

import (
	"context"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// Git is what is done with workspaces. HostGit is the real one.
type Git struct {
	// Look reads a workspace's branch, without a process where it can.
	Look func(path string) session.Checkout
	// LookClone is Look where no git may be run, whatever stands there.
	LookClone func(path string) session.Checkout
	// AddWorktree makes a worktree on a branch, and the branch at base if there
	// is none yet; made says so. It leaves nothing behind when it fails.
	AddWorktree func(ctx context.Context, repo, path, branch, base string) (made bool, err error)
	// RemoveWorktree removes a worktree with which nothing is lost, and else
	// refuses with a *git.RiskError. The branch stays.
	RemoveWorktree func(ctx context.Context, repo, path string) error
	// AtRisk says what would be lost with a worktree, also if its folder is gone.
	AtRisk func(ctx context.Context, path, repo string) (git.Risk, error)
	// AddClone makes a clone with one branch, for the owner (nil: whoever runs this).
	// It leaves nothing behind when it fails.
	AddClone func(ctx context.Context, repo, path, branch, base string, owner *git.Owner) (made bool, err error)
	// RemoveClone removes a clone with which nothing is lost, and else refuses with a
	// *git.RiskError; git runs git in it.
	RemoveClone func(ctx context.Context, path, repo string, git git.Runner) error
	// Identity is who commits in a repository, as variables of an environment.
	Identity func(ctx context.Context, repo string) (map[string]string, error)
}

// HostGit is the git of this machine.
func HostGit() Git {
	return Git{
		Look: git.Look, AddWorktree: git.AddWorktree, RemoveWorktree: git.RemoveWorktree, AtRisk: git.AtRisk,
		LookClone: git.LookClone, AddClone: git.AddClone, RemoveClone: git.RemoveClone,
		Identity: git.Identity,
	}
}
