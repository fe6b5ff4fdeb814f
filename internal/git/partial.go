package git

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// finishTimeout bounds how long a git that outlived its agentform may take to finish a
// worktree, with files that a filter fetches.
const finishTimeout = 10 * time.Minute

// partial reports whether git has not finished making this linked worktree. It locks it
// meanwhile with the reason "initializing" (git's builtin/worktree.c).
func (d dirs) partial() bool {
	if d.git == d.common {
		return false
	}
	why, err := readSmall(filepath.Join(d.git, "locked"))
	return err == nil && strings.HasPrefix(why, "initializing")
}

// finish handles a worktree at path that a killed agentform had begun. It waits for a git
// that continues, and removes a worktree that nobody makes any more: that has only a part of
// the branch. there reports whether the worktree is complete.
func (d dirs) finish(ctx context.Context, repo, path, branch, entry string) (there bool, err error) {
	began := dirs{git: entry, common: d.common}
	if !began.partial() {
		return false, nil
	}
	for until := time.Now().Add(finishTimeout); began.partial(); {
		if !atWork(path) {
			if !began.partial() { // finished meanwhile
				break
			}
			if _, err := run(ctx, repo, "worktree", "remove", "--force", "--force", "--", path); err != nil {
				return false, fmt.Errorf("remove the half-made worktree: %w", err)
			}
			return false, nil
		}
		if time.Now().After(until) {
			return false, fmt.Errorf("a git that was started before is still making it, after %s", finishTimeout)
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("wait for a git that is still making it: %w", context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
	co := Look(path)
	return co.Err == nil && co.Repo == d.common && co.Branch == branch, co.Err
}
