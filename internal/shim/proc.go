package shim

import "bytes"

// sight is one look at a process.
type sight struct {
	pid, parent int
	start       uint64
	state       byte // R, S, D, T (stopped), Z (zombie); as ps shows it
	threads     int
}

// alive is false for a zombie. A process whose first thread has ended looks
// like one while other threads go on.
func (s sight) alive() bool {
	return s.state != 'X' && (s.state != 'Z' || s.threads > 1)
}

func (s sight) stopped() bool { return s.state == 'T' || s.state == 't' || !s.alive() }

func (s sight) proc() Proc { return Proc{PID: s.pid, Start: s.start} }

// StartTime is when a process was started, in the kernel's own units: on Linux
// clock ticks since boot (field 22 of /proc/PID/stat), on macOS microseconds
// since 1970. It is only ever compared. False: there is no such process.
func StartTime(pid int) (uint64, bool) {
	s, ok := look(pid)
	return s.start, ok
}

// statFields are the fields of /proc/PID/stat from the third on, the state. The
// second is the command's name, in parentheses: it may hold anything, so they are
// counted from the last one.
func statFields(stat []byte) [][]byte {
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}

// below lists the descendants of the given processes out of a list of all
// processes, parents before their children.
func below(all []sight, roots ...int) []sight {
	children := make(map[int][]sight, len(all))
	for _, s := range all {
		children[s.parent] = append(children[s.parent], s)
	}
	seen := make(map[int]bool, len(roots))
	for _, r := range roots {
		seen[r] = true
	}
	var found []sight
	for queue := roots; len(queue) > 0; queue = queue[1:] {
		for _, s := range children[queue[0]] {
			if !seen[s.pid] {
				seen[s.pid] = true
				found = append(found, s)
				queue = append(queue, s.pid)
			}
		}
	}
	return found
}

// Parent returns the process that a process is a child of; 0: it does not run.
func (p Proc) Parent() int {
	if s, found := look(p.PID); found && s.start == p.Start && s.alive() {
		return s.parent
	}
	return 0
}
