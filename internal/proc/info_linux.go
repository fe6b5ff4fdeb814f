package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ReadInfo returns the foreground process of a terminal, found by the terminal's first process.
func ReadInfo(pid int) Info {
	var s Info
	at := pid
	if b, err := os.ReadFile(procPath(pid, "stat")); err == nil {
		// tpgid, the terminal's foreground group, is field 8: the sixth after the name.
		f := statFields(b)
		if len(f) > 5 {
			if group, err := strconv.Atoi(string(f[5])); err == nil && group > 0 {
				at = group
			}
		}
	}
	for _, p := range []int{at, pid} { // the group's leader may have exited
		if s.Dir = Dir(p); s.Dir == "" {
			s.Dir = Dir(pid)
		}
		if s.Argv = Argv(p); len(s.Argv) > 0 {
			break
		}
	}
	return s
}

// Dir returns the working directory of a process; empty: not known.
func Dir(pid int) string {
	dir, err := os.Readlink(procPath(pid, "cwd")) // another user's: not known
	if err != nil || strings.HasSuffix(dir, " (deleted)") {
		return ""
	}
	return dir
}

// Argv returns the command line of a process; nil: not known. It removes the blanks after a title
// that a program has written over its command line.
func Argv(pid int) []string {
	b, err := os.ReadFile(procPath(pid, "cmdline"))
	if b = bytes.TrimSuffix(b, []byte{0}); err != nil || len(b) == 0 {
		return nil
	}
	if title := bytes.TrimRight(b, "\x00"); len(b)-len(title) > 1 {
		b = title
	}
	return strings.Split(string(b), "\x00")
}

// ZombieExit returns how a process ended that its parent has not reaped. ok is false if the process
// is alive or reaped, or if the kernel does not show it to this user.
func ZombieExit(p Process) (code int, signal string, ok bool) {
	s, found := ReadStat(p.PID)
	if !found || s.Start != p.Start {
		return 0, "", false
	}
	stat, err := os.ReadFile(procPath(p.PID, "stat"))
	if err != nil {
		return 0, "", false
	}
	// To others the kernel shows a clean exit, and io fails: both use ptrace_may_access
	// (fs/proc/array.c and base.c).
	if _, err := os.ReadFile(procPath(p.PID, "io")); err != nil {
		return 0, "", false
	}
	return ParseZombieExit(stat)
}

// ignores reports whether a process ignores a signal.
func ignores(pid int, sig syscall.Signal) bool {
	b, err := os.ReadFile(procPath(pid, "status"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), "\nSigIgn:")
	mask, _, _ := strings.Cut(rest, "\n")
	bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
	return err == nil && bits&(1<<(uint(sig)-1)) != 0
}

// OwnsTree reports that no descendant of an agent escapes its shim: the kernel hands the shim every
// orphan, so a shim that answers a stop has reaped them all.
const OwnsTree = true
