package proc

import (
	"iter"
	"os"
	"time"
)

// settleTimeout bounds one Find. A process that has no environment for that long has none.
const settleTimeout = time.Second

// Find yields this user's running processes, except the caller, whose environment is wanted, each
// with its environment as NUL-terminated entries. It repeats its look until that finds no new
// process, so it also finds one started meanwhile by a process that then ended. A process in the
// middle of an exec, which has no environment then, is read again.
func Find(wanted func(environ []byte) bool) iter.Seq2[Process, []byte] {
	return func(yield func(Process, []byte) bool) {
		seen := map[int]bool{os.Getpid(): true}
		for until := time.Now().Add(settleTimeout); time.Now().Before(until); {
			more, settled := false, true
			for _, pid := range pids() {
				if seen[pid] {
					continue
				}
				env, known := environ(pid)
				more, seen[pid], settled = true, known, settled && known
				if !known || !wanted(env) {
					continue
				}
				if s, ok := ReadStat(pid); ok && s.Alive() && !yield(s.Process, env) {
					return
				}
			}
			if !more {
				return
			}
			if !settled {
				time.Sleep(time.Millisecond)
			}
		}
	}
}
