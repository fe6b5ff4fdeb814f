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

// Alive reports whether this very process runs. A zombie does not.
func (p Process) Alive() bool {
	alive, _ := p.Runs()
	return alive
}

// Runs reports whether this very process runs, and if so whether a signal stopped it. One
// that a debugger holds does not count as stopped.
func (p Process) Runs() (alive, stopped bool) {
	s, ok := ReadStat(p.PID)
	alive = ok && s.Start == p.Start && s.Alive()
	return alive, alive && s.State == 'T'
}

// Stopped reports whether a signal stopped a process, which lives.
func Stopped(pid int) bool {
	s, ok := ReadStat(pid)
	return ok && s.State == 'T'
}

// IgnoringEINTR calls f until no signal comes between.
func IgnoringEINTR(f func() error) error {
	for {
		if err := f(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Stat is the state of a process at one moment.
type Stat struct {
	Process
	Parent  int
	State   byte // R, S, D, T (stopped), Z (zombie); as ps shows it
	Threads int
}

// Alive reports whether the process runs. A zombie does not, unless only its first
// thread has ended.
func (s Stat) Alive() bool {
	return s.State != 'X' && (s.State != 'Z' || s.Threads > 1)
}

// Stopped reports whether the process runs no code.
func (s Stat) Stopped() bool { return s.State == 'T' || s.State == 't' || !s.Alive() }

// StartTime is when a process was started, in the kernel's own units: on Linux
// clock ticks since boot (field 22 of /proc/PID/stat), on macOS microseconds
// since 1970. It is only ever compared. False: there is no such process.
func StartTime(pid int) (uint64, bool) {
	s, ok := ReadStat(pid)
	return s.Start, ok
}

// statFields are the fields of /proc/PID/stat from the third on, the state. The
// second is the command's name, in parentheses: it may hold anything, so they are
// counted from the last one.
func statFields(stat []byte) [][]byte {
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}

// below lists the descendants of the given processes out of a list of all
// processes, parents before their children.
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

// Parent returns the process that a process is a child of; 0: it does not run.
func (p Process) Parent() int {
	if s, found := ReadStat(p.PID); found && s.Start == p.Start && s.Alive() {
		return s.Parent
	}
	return 0
}
