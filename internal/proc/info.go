package proc

import (
	"strconv"
	"syscall"
)

// Info is what can be seen of a process that somebody else started.
type Info struct {
	Dir  string   // where that works; empty: not known
	Argv []string // of what works in its terminal's foreground: its own, or, of a shell, its job's
}

// ParseZombieExit returns how a process ended by its /proc/PID/stat, read by someone
// who may read /proc/PID/io, too: of others' the kernel shows a clean exit. False: it
// lives.
func ParseZombieExit(stat []byte) (code int, signal string, ok bool) {
	f := statFields(stat)
	if len(f) < 50 || string(f[0]) != "Z" {
		return 0, "", false
	}
	if threads := string(f[17]); threads != "1" && threads != "0" { // only its first thread has ended
		return 0, "", false
	}
	raw, err := strconv.Atoi(string(f[49])) // exit_code, field 52, as wait(2) tells it
	if err != nil || raw < 0 {
		return 0, "", false
	}
	if number := raw & 0x7f; number != 0 {
		return 0, SignalName(syscall.Signal(number)), true
	}
	return raw >> 8 & 0xff, "", true
}
