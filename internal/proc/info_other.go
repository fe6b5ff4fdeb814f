//go:build !linux

package proc

import (
	"syscall"
)

// ReadInfo returns nothing, without /proc. What tmux reports must do.
func ReadInfo(int) Info { return Info{} }

// Dir is not known without /proc.
func Dir(int) string { return "" }

// ZombieExit returns nothing: without /proc it is not known how a process ended.
func ZombieExit(Process) (code int, signal string, ok bool) { return 0, "", false }

// ignores returns false: without /proc it is not known.
func ignores(int, syscall.Signal) bool { return false }
