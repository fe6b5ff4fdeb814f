//go:build !linux

package proc

import (
	"syscall"
)

// ReadInfo looks at the first process of a terminal. Without /proc nothing is known:
// tmux's own word has to do.
func ReadInfo(int) Info { return Info{} }

// Dir is not known without /proc.
func Dir(int) string { return "" }

// ZombieExit is how a process ended that its parent has not reaped yet. Without /proc
// that cannot be seen.
func ZombieExit(Process) (code int, signal string, ok bool) { return 0, "", false }

// ignores cannot be told without /proc.
func ignores(int, syscall.Signal) bool { return false }
