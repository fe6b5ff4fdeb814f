package guest

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Sweep ends whatever still carries a run's mark in its environment, and what
// is below that, with the signal, then, after the grace, SIGKILL. It is meant
// for after a stop, and for a run whose guest was killed. It returns when a look
// at every process finds nothing more, or with what is left and an error. It
// never ends the calling process. It sees the processes of this user only, and a
// process can forge the mark or shed it.
//
// Each call looks at every process of the machine: for many runs at once use
// SweepAll.
func Sweep(run string, grace time.Duration, signal string) (left []Proc, err error) {
	all, err := SweepAll([]string{run}, grace, signal)
	return all[run], err
}

// SweepAll is Sweep for many runs in one go. What is left is told by run.
func SweepAll(runs []string, grace time.Duration, signal string) (left map[string][]Proc, err error) {
	sig, err := stopSignal(signal)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	wanted := make(map[string]bool, len(runs))
	for _, run := range runs {
		if !isRun(run) {
			return nil, fmt.Errorf("sweep: invalid run id %q", run)
		}
		wanted[run] = true
	}
	deadline := time.Now().Add(grace)
	asked := map[Proc]bool{}
	for wait := time.Millisecond; ; wait = min(2*wait, maxWait) {
		marked := marked(wanted, asked)
		if len(marked) == 0 {
			return nil, nil
		}
		now := time.Now()
		if now.After(deadline.Add(killTimeout)) {
			return marked, fmt.Errorf("sweep: %d runs have processes that outlive SIGKILL", len(marked))
		}
		for _, procs := range marked {
			for _, p := range procs {
				end(p, sig, !now.Before(deadline), asked)
			}
		}
		time.Sleep(wait)
	}
}

// end asks a process once to go, and later makes it. It reports whether it
// signalled.
func end(p Proc, sig syscall.Signal, kill bool, asked map[Proc]bool) bool {
	switch {
	case kill:
		syscall.Kill(p.PID, syscall.SIGKILL)
	case asked[p]:
		return false
	default:
		syscall.Kill(p.PID, sig)
		syscall.Kill(p.PID, syscall.SIGCONT)
	}
	asked[p] = true
	return true
}

// marked finds the living processes of the runs, each run's descendants behind
// it. Those that were not asked to go yet stand still from then on, or they would
// have started others and ended before they are.
func marked(wanted map[string]bool, asked map[Proc]bool) map[string][]Proc {
	self := os.Getpid()
	found := map[string][]Proc{}
	for p, environ := range Find(func(environ []byte) bool { return wanted[markOf(environ)] }) {
		if !asked[p] {
			syscall.Kill(p.PID, syscall.SIGSTOP)
		}
		run := markOf(environ)
		found[run] = append(found[run], p)
	}
	if len(found) == 0 {
		return nil
	}
	all := processes()
	for run, roots := range found {
		for _, p := range roots {
			for _, d := range below(all, p.PID) {
				if d.pid != self && d.alive() {
					found[run] = append(found[run], d.proc())
				}
			}
		}
	}
	return found
}

// markOf is the run in an environment whose entries are ended by NULs; empty
// without a mark.
func markOf(environ []byte) string {
	const name = RunVariable + "="
	for len(environ) > 0 {
		entry, rest, _ := bytes.Cut(environ, []byte{0})
		if bytes.HasPrefix(entry, []byte(name)) {
			return string(entry[len(name):])
		}
		environ = rest
	}
	return ""
}
