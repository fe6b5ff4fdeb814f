package proc

import (
	"strconv"
	"syscall"
)

// Info describes a process that agentform did not start.
type Info struct {
	Dir  string   // working directory of the foreground process; empty: not known
	Argv []string // command line of the terminal's foreground process: its own or, of a shell, its job's
}

// ParseZombieExit returns how a zombie ended, from its /proc/PID/stat. The reader must also be
// allowed to read /proc/PID/io: to others the kernel shows a clean exit. ok is false if the process
// is alive.
func ParseZombieExit(stat []byte) (code int, signal string, ok bool) {
	f := statFields(stat)
	if len(f) < 50 || string(f[0]) != "Z" {
		return 0, "", false
	}
	if threads := string(f[17]); threads != "1" && threads != "0" { // only its first thread has ended
		return 0, "", false
	}
	raw, err := strconv.Atoi(string(f[49])) // exit_code, field 52, encoded as by wait(2)
	if err != nil || raw < 0 {
		return 0, "", false
	}
	if number := raw & 0x7f; number != 0 {
		return 0, SignalName(syscall.Signal(number)), true
	}
	return raw >> 8 & 0xff, "", true
}
