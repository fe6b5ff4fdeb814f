//go:build !linux

package shim

import "syscall"

// Seen looks at the first process of a terminal. Without /proc nothing is known:
// tmux's own word has to do.
func Seen(int) Stranger { return Stranger{} }

// Corpse is how a process ended that its parent has not reaped yet. Without /proc
// that cannot be seen.
func Corpse(Proc) (code int, signal string, ok bool) { return 0, "", false }

// ignores cannot be told without /proc.
func ignores(int, syscall.Signal) bool { return false }
