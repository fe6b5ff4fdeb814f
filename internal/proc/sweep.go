package proc

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ValidRun reports whether a run id is safe in a file name and in an environment.
func ValidRun(id string) bool {
	if id == "" || len(id) > 64 || id[0] == '.' || id[0] == '-' {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// RunVariable is the environment variable that marks every process of a run with its id.
const RunVariable = "AGENTFORM_RUN"

// Sweep ends all processes with a run's mark in their environment, and their descendants, with the
// signal and, after the grace, SIGKILL. It is for the time after a stop, and for a run whose shim
// was killed. It returns when a look at every process finds none, or the remaining ones and an
// error. It never ends the calling process. It finds only processes of this user, and a process can
// forge or remove the mark.
func Sweep(run string, grace time.Duration, signal string) (left []Process, err error) {
	sig, err := ParseSignal(signal)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	if !ValidRun(run) {
		return nil, fmt.Errorf("sweep: invalid run id %q", run)
	}
	asked := map[Process]bool{}
	var deadline time.Time
	for wait := time.Millisecond; ; wait = min(2*wait, MaxWait) {
		kill := !deadline.IsZero() && !time.Now().Before(deadline) || grace <= 0
		marked := marked(run, kill)
		if len(marked) == 0 {
			return nil, nil
		}
		if deadline.IsZero() { // the grace starts with the first signal
			deadline = time.Now().Add(grace)
		}
		Signal(marked, sig, kill, asked)
		if time.Now().After(deadline.Add(KillTimeout)) {
			return marked, fmt.Errorf("sweep: %d processes of run %s outlive SIGKILL", len(marked), run)
		}
		time.Sleep(wait)
	}
}

// marked returns the running processes of a run, followed by their descendants. With still, it
// stops the processes with the mark, so that they cannot start others and exit meanwhile.
func marked(run string, still bool) []Process {
	var found []Process
	var roots []int
	for p := range Find(func(environ []byte) bool { return Getenv(environ, RunVariable) == run }) {
		if still {
			syscall.Kill(p.PID, syscall.SIGSTOP)
		}
		found, roots = append(found, p), append(roots, p.PID)
	}
	if len(found) == 0 {
		return nil
	}
	self := os.Getpid()
	for _, d := range below(processes(), roots...) {
		if d.PID != self && d.Alive() {
			found = append(found, d.Process)
		}
	}
	return found
}

// Getenv returns a variable of an environment of NUL-terminated entries.
func Getenv(environ []byte, name string) string {
	for len(environ) > 0 {
		entry, rest, _ := bytes.Cut(environ, []byte{0})
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
		environ = rest
	}
	return ""
}
