//go:build real

package docker_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTerminalLeaves shows that a session in a container is read at its own size again
// after a small terminal has left it, and that no client stays in the container, also
// when the docker command was killed.
func TestTerminalLeaves(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "app")
	p := b.create(t, l)
	b.listening(t, p)
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
	sized := func(attached, columns, rows int) func() bool {
		return func() bool {
			seen, _ := b.see(t, p)
			return seen.Attached == attached && seen.Size == [2]int{columns, rows}
		}
	}
	for how, leave := range map[string]func(pid string){
		"detached": func(string) {
			b.docker(t, "exec", p.Container, "tmux", "-S", p.Socket, "detach-client", "-t", strings.TrimSpace(clients()))
		},
		"killed":      func(pid string) { run("kill", "-9", pid) },
		"no terminal": func(string) { run("tmux", "-S", outer, "kill-server") },
	} {
		until(t, how+": the window has its own size", sized(0, 200, 50))
		pid := run("tmux", append([]string{"-f", "/dev/null", "-S", outer, "new-session", "-d", "-P", "-F", "#{pane_pid}", "-x", "40", "-y", "6", "--"}, b.runtime.Attach(p)...)...)
		until(t, how+": the window is as small as the terminal", sized(1, 40, 5))
		leave(pid)
		until(t, how+": the window has its own size again", sized(0, 200, 50))
		until(t, how+": no client stays", func() bool { return strings.TrimSpace(clients()) == "" })
		// A server that is about to exit turns the next terminal away.
		until(t, how+": the outer server leaves", func() bool { return exec.Command("pgrep", "-f", outer).Run() != nil })
	}
}
