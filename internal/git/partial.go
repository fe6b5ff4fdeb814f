package git

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// finishing is how long a git that outlived its agentform may take to finish a
// worktree: a checkout of a large repository, with files that a filter fetches.
const finishing = 10 * time.Minute

// partial reports whether git has begun to make this linked worktree and not
// finished: it keeps it locked meanwhile, for that reason (git's
// builtin/worktree.c, "initializing").
func (d dirs) partial() bool {
	if d.git == d.common {
		return false
	}
	why, err := readSmall(filepath.Join(d.git, "locked"))
	return err == nil && strings.HasPrefix(why, "initializing")
}

// finish deals with a worktree at path that an agentform which was killed had
// begun. There may be a git that goes on with it: then it is waited for. One that
// nobody makes any more is removed, to be made again: it never had anything in
// it but a part of the branch. there says that the worktree is now as it should
// be.
func (d dirs) finish(ctx context.Context, repo, path, branch, entry string) (there bool, err error) {
	began := dirs{git: entry, common: d.common}
	if !began.partial() {
		return false, nil
	}
	for until := time.Now().Add(finishing); began.partial(); {
		if !atWork(path) {
			if !began.partial() { // it ended between the two looks
				break
			}
			if _, err := run(ctx, repo, "worktree", "remove", "--force", "--force", "--", path); err != nil {
				return false, fmt.Errorf("remove the half-made worktree: %w", err)
			}
			return false, nil
		}
		if time.Now().After(until) {
			return false, fmt.Errorf("a git that was started before is still making it, after %s", finishing)
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
