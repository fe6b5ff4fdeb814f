package shim

import (
	"bytes"
	"fmt"
	"os"
	"slices"
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
	asked := map[Proc]bool{}
	var deadline time.Time
	for wait := time.Millisecond; ; wait = min(2*wait, maxWait) {
		kill := !deadline.IsZero() && !time.Now().Before(deadline) || grace <= 0
		marked := marked(wanted, kill)
		if len(marked) == 0 {
			return nil, nil
		}
		if deadline.IsZero() { // it begins when they are asked
			deadline = time.Now().Add(grace)
		}
		var all []Proc
		for _, procs := range marked {
			all = append(all, procs...)
		}
		end(all, sig, kill, asked)
		if time.Now().After(deadline.Add(killTimeout)) {
			return marked, fmt.Errorf("sweep: %d runs have processes that outlive SIGKILL", len(marked))
		}
		time.Sleep(wait)
	}
}

// end asks processes, parents before their children, each once to go, and later makes
// them. It is those that it signalled. They are woken when all are asked, children
// first: the kernel hangs up on a group that is stopped when it loses its parent.
func end(procs []Proc, sig syscall.Signal, kill bool, asked map[Proc]bool) (signalled []Proc) {
	for _, p := range procs {
		switch {
		case kill:
			syscall.Kill(p.PID, syscall.SIGKILL)
		case asked[p]:
			continue
		default:
			syscall.Kill(p.PID, sig)
		}
		asked[p] = true
		signalled = append(signalled, p)
	}
	if !kill {
		for _, p := range slices.Backward(signalled) {
			syscall.Kill(p.PID, syscall.SIGCONT)
		}
	}
	return signalled
}

// marked finds the living processes of the runs, each run's descendants behind
// it. With still, what it finds stands still from then on, or it would have started
// others and ended before it is.
func marked(wanted map[string]bool, still bool) map[string][]Proc {
	self := os.Getpid()
	found := map[string][]Proc{}
	for p, environ := range Find(func(environ []byte) bool { return wanted[markOf(environ)] }) {
		if still {
			syscall.Kill(p.PID, syscall.SIGSTOP)
		}
		run := markOf(environ)
		found[run] = append(found[run], p)
	}
	if len(found) == 0 {
		return nil
	}
	all := processes()
	for run, procs := range found {
		roots := make([]int, len(procs))
		for i, p := range procs {
			roots[i] = p.PID
		}
		for _, d := range below(all, roots...) {
			if d.pid != self && d.alive() {
				found[run] = append(found[run], d.proc())
			}
		}
	}
	return found
}

// markOf is the run in an environment whose entries are ended by NULs; empty
// without a mark.
func markOf(environ []byte) string { return valueOf(environ, RunVariable) }

// valueOf returns a variable of an environment whose entries are ended by NULs.
func valueOf(environ []byte, name string) string {
	for len(environ) > 0 {
		entry, rest, _ := bytes.Cut(environ, []byte{0})
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
		environ = rest
	}
	return ""
}
