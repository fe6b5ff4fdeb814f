package agenttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/session"
)

// Entries returns what the agent's own files say, as people see it.
func (r *Run) Entries() []session.Entry { return sessionfile.Entries(r.agent, r.Lines()) }

// Kinds returns the kinds of the entries, in their order.
func (r *Run) Kinds() []string {
	var kinds []string
	for _, e := range r.Entries() {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// Program runs the agent's program in the lab, without a terminal, until it
// leaves; it is what it printed.
func (l *Lab) Program(args ...string) string {
	l.t.Helper()
	cmd := exec.Command(l.Spec.Command[0], args...)
	cmd.Dir = l.Dir
	for name, value := range l.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("%s %s: %v\n%s", l.Agent, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Holding are the processes of the lab that have a file open.
func (l *Lab) Holding(file string) []int {
	var holders []int
	for p := range l.processes() {
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID))
		if err != nil {
			continue
		}
		if slices.ContainsFunc(fds, func(fd string) bool {
			path, err := os.Readlink(fd)
			return err == nil && path == file
		}) {
			holders = append(holders, p.PID)
		}
	}
	return holders
}

// Below reports whether a process is the agent's or descends from it.
func (p *pane) Below(pid int) bool {
	for pid > 1 {
		if pid == p.process.PID {
			return true
		}
		pid = parent(pid)
	}
	return false
}

// parent is a process's parent; 0: there is none, or it is gone.
func parent(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nPPid:\t")
	line, _, _ := strings.Cut(rest, "\n")
	ppid, _ := strconv.Atoi(line)
	return ppid
}
