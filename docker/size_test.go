//go:build real

package docker_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// TestTerminalLeaves checks that a session gets its own size back after a small terminal has left,
// and that no client stays in the container, even if the docker command was killed.
func TestTerminalLeaves(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "app"))
	b.listening(t, p)
	b.terminalLeaves(t, p)
}

// TestTerminalLeavesElsewhere checks the same on an engine elsewhere.
func TestTerminalLeavesElsewhere(t *testing.T) {
	for name, host := range map[string]func(*dockertest.Far) string{"tls": byTLS, "ssh": bySSH} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFarBed(t, host)
			p := b.create(t, b.farLaunch(t, "app"))
			b.terminalLeaves(t, p)
		})
	}
}

// terminalLeaves attaches a small terminal to a session for each way in which it may end.
func (b *bed) terminalLeaves(t *testing.T, p session.Location) {
	t.Helper()
	outer := filepath.Join(b.root, "outer")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", outer, "kill-server").Run() })
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	clients := func() string {
		return b.docker(t, "exec", p.Container, "tmux", "-S", p.Socket, "list-clients", "-F", "#{?client_control_mode,,#{client_name}}")
	}
	sized := func(what string, attached, columns, rows int) {
		t.Helper()
		wait.For(t, what, func() (any, bool) {
			seen, _ := b.see(t, p)
			return seen, seen.Attached == attached && seen.Size == [2]int{columns, rows}
		})
	}
	for how, leave := range map[string]func(pid string){
		"detached": func(string) {
			b.docker(t, "exec", p.Container, "tmux", "-S", p.Socket, "detach-client", "-t", strings.TrimSpace(clients()))
		},
		"killed":      func(pid string) { run("kill", "-9", pid) },
		"no terminal": func(string) { run("tmux", "-S", outer, "kill-server") },
	} {
		sized(how+": the window has its own size", 0, 200, 50)
		pid := run("tmux", append([]string{"-f", "/dev/null", "-S", outer, "new-session", "-d", "-P", "-F", "#{pane_pid}", "-x", "40", "-y", "6", "--"}, b.runtime.Attach(p)...)...)
		sized(how+": the window is as small as the terminal", 1, 40, 5)
		leave(pid)
		sized(how+": the window has its own size again", 0, 200, 50)
		wait.For(t, how+": no client stays", func() (any, bool) { left := clients(); return left, strings.TrimSpace(left) == "" })
		// A server that is about to exit refuses the next terminal.
		wait.For(t, how+": the outer server leaves", func() (any, bool) {
			left, err := exec.Command("pgrep", "-f", outer).Output()
			return string(left), err != nil
		})
	}
}
