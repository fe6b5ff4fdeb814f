package agenttest

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/proc"
)

// Alive are the processes that were started in the lab and live, as "pid command
// line": whatever the agents started, wherever it went.
func (l *Lab) Alive() []string {
	var found []string
	for p := range l.processes() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		if err != nil {
			continue
		}
		found = append(found, fmt.Sprintf("%d %.160s", p.PID, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return found
}

// processes are those that carry the lab's mark in their environment.
func (l *Lab) processes() iter.Seq2[proc.Process, []byte] {
	entry := []byte("\x00" + l.mark + "\x00")
	return proc.Find(func(environ []byte) bool { return bytes.Contains(append([]byte{0}, environ...), entry) })
}

// end kills what lives in the lab, and is what still does.
func (l *Lab) end() []string {
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		gone := true
		for p := range l.processes() {
			gone = false
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // gone already is as good
		}
		if gone {
			return nil
		}
		if time.Now().After(until) {
			return l.Alive()
		}
	}
}

// Signal sends a signal to the agent's process.
func (p *pane) Signal(s syscall.Signal) {
	p.lab.t.Helper()
	if err := syscall.Kill(p.process.PID, s); err != nil {
		p.lab.t.Fatalf("signal %s: %v", s, err)
	}
}

// Close ends the run as a person closes a terminal: the tmux server is killed.
func (p *pane) Close() {
	p.lab.t.Helper()
	p.ask("kill-server")
}

// UntilNone waits until no process of the lab lives, and fails the test with
// those that do.
func (l *Lab) UntilNone() {
	l.t.Helper()
	var alive []string
	for until := time.Now().Add(Deadline); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if alive = l.Alive(); len(alive) == 0 {
			return
		}
	}
	l.t.Errorf("still alive after %s: %q", Deadline, alive)
}
