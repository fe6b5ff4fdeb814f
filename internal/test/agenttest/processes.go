package agenttest

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"syscall"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/test/wait"
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

// UntilNone waits until no process of the lab lives.
func (l *Lab) UntilNone() {
	l.t.Helper()
	wait.For(l.t, "no process of the lab lives", func() (any, bool) { left := l.Alive(); return left, len(left) == 0 })
}
