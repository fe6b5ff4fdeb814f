//go:build !linux

package git

import (
	"os"
	"time"
)

// abandonedAfter is how long an unfinished worktree is unchanged until it counts as abandoned.
const abandonedAfter = 30 * time.Second

// atWork reports whether the worktree at path changed a short while ago. It is weaker than
// on Linux, where it searches for the process.
func atWork(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && time.Since(fi.ModTime()) < abandonedAfter
}
