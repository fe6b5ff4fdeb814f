package proc

import (
	"iter"
	"os"
	"time"
)

// settleTimeout bounds the looks of one Find: a process that is without an
// environment for so long has none.
const settleTimeout = time.Second

// Find finds the living processes of this user whose environment is wanted, but
// for the calling one, and is each, as soon as it is found, with that environment,
// whose entries are ended by NULs. It finds all that there are: a process that was
// started behind the look, by one that then ended, is looked at too, and one that is
// becoming another program, and has no environment for that moment, is looked at again.
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
