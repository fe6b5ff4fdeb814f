package git

import (
	"fmt"
	"strings"
)

// Risk is what would be lost if a checkout were removed. Ignored files do not count, nor
// do stash entries of a worktree, which stay in the repository.
type Risk struct {
	Uncommitted int    // tracked files that differ from HEAD or the index
	Untracked   int    // files, or directories of such files
	Unreachable int    // commits that no ref of the repository holds
	Dropped     int    // commits that only the reflog of the checkout holds
	Lacking     int    // refs of a clone with a commit that the repository lacks
	Large       int    // git-lfs or git-annex files of a clone that the repository lacks
	Busy        string // the operation under way: rebase, merge, cherry-pick, revert, bisect, am
	Nested      string // the first worktree or repository below it that holds work
}

// Any reports whether anything is at risk.
func (r Risk) Any() bool { return r != Risk{} }

// String returns the risk for people: "2 uncommitted changes, rebase under way".
func (r Risk) String() string {
	var parts []string
	count := func(n int, one, more string) {
		if n > 0 {
			parts = append(parts, plural(n, one, more))
		}
	}
	count(r.Uncommitted, "uncommitted change", "uncommitted changes")
	count(r.Untracked, "untracked file", "untracked files")
	count(r.Unreachable, "commit that no branch holds", "commits that no branch holds")
	count(r.Dropped, "commit that only the reflog holds", "commits that only the reflog holds")
	count(r.Lacking, "branch with commits that the repository lacks", "branches with commits that the repository lacks")
	count(r.Large, "file of git-lfs or git-annex that the repository lacks", "files of git-lfs or git-annex that the repository lacks")
	if r.Busy != "" {
		parts = append(parts, r.Busy+" under way")
	}
	if r.Nested != "" {
		parts = append(parts, r.Nested)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// RiskError reports that a checkout was not removed because of what it holds.
type RiskError struct {
	Path string
	Risk Risk
}

// Error describes what would have been lost.
func (e *RiskError) Error() string {
	return fmt.Sprintf("%s was kept, it holds %s", e.Path, e.Risk)
}
