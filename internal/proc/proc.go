package proc

import (
	"bytes"
	"errors"
	"syscall"
)

// Process identifies a process: a pid alone is reused.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // of StartTime
}

// Alive reports whether this process is running. A zombie is not.
func (p Process) Alive() bool {
	alive, _ := p.Runs()
	return alive
}

// Runs reports whether this process is running, and if so whether a signal has stopped it. A
// process stopped by a debugger does not count.
func (p Process) Runs() (alive, stopped bool) {
	s, ok := ReadStat(p.PID)
	alive = ok && s.Start == p.Start && s.Alive()
	return alive, alive && s.State == 'T'
}

// Stopped reports whether a signal has stopped a running process.
func Stopped(pid int) bool {
	s, ok := ReadStat(pid)
	return ok && s.State == 'T'
}

// IgnoringEINTR calls f until no signal interrupts it.
func IgnoringEINTR(f func() error) error {
	for {
		if err := f(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Stat is the state of a process at one time.
type Stat struct {
	Process
	Parent  int
	State   byte // R, S, D, T (stopped), Z (zombie); as ps shows it
	Threads int
}

// Alive reports whether the process is running. A zombie is not, unless only its first thread has
// ended.
func (s Stat) Alive() bool {
	return s.State != 'X' && (s.State != 'Z' || s.Threads > 1)
}

// Stopped reports whether the process executes no code.
func (s Stat) Stopped() bool { return s.State == 'T' || s.State == 't' || !s.Alive() }

// StartTime returns the start time of a process in the kernel's units, for comparison only: on
// Linux clock ticks since boot (field 22 of /proc/PID/stat), on macOS microseconds since 1970. ok
// is false if there is no such process.
func StartTime(pid int) (uint64, bool) {
	s, ok := ReadStat(pid)
	return s.Start, ok
}

// statFields returns the fields of /proc/PID/stat from the third, the state. The second is the
// command's name in parentheses, which may contain anything, so fields are counted from the last
// parenthesis.
func statFields(stat []byte) [][]byte {
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}

// below returns the descendants of the roots among all processes, parents before their children.
func below(all []Stat, roots ...int) []Stat {
	children := make(map[int][]Stat, len(all))
	for _, s := range all {
		children[s.Parent] = append(children[s.Parent], s)
	}
	seen := make(map[int]bool, len(roots))
	for _, r := range roots {
		seen[r] = true
	}
	var found []Stat
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		for _, s := range children[queue[0]] {
			if !seen[s.PID] {
				seen[s.PID] = true
				found = append(found, s)
				queue = append(queue, s.PID)
			}
		}
	}
	return found
}

// Parent returns the pid of the parent; 0: the process is not running.
func (p Process) Parent() int {
	if s, found := ReadStat(p.PID); found && s.Start == p.Start && s.Alive() {
		return s.Parent
	}
	return 0
}
