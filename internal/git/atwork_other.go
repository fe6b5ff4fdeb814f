//go:build !linux

package git

import (
	"os"
	"time"
)

// still is how long nothing may happen in a worktree until it counts as left.
const still = 30 * time.Second

// atWork reports whether something was made in the worktree at path a short
// while ago. It is weaker than on Linux, where the process itself is looked for.
func atWork(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && time.Since(fi.ModTime()) < still
}
