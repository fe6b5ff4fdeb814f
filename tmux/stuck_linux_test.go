//go:build real

package tmux_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

// TestServerThatCannotLeave checks that a server that cannot exit after kill-server is terminated,
// and that the session is created on the next one. A server that was killed while sessions were
// created can have one that came too late.
func TestServerThatCannotLeave(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if err := os.MkdirAll(b.config.SocketDir, 0o700); err != nil {
		t.Fatal(err)
	}
	pid := b.stuck(t)
	began := time.Now()
	p := b.create(t, b.launch(t, "api"))
	if l, ok := b.see(t, p); !ok || l.Liveness != session.Alive {
		t.Errorf("there %v, %+v", ok, l)
	}
	if pid.Alive() {
		t.Error("the server that could not leave is still there")
	}
	t.Logf("after %s", time.Since(began).Round(time.Millisecond))
}

// TestServerThatStandsStill checks that a suspended server is not terminated.
func TestServerThatStandsStill(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "api"))
	pid := b.server(t, p.Socket)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(5*time.Second, func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	if l, ok := b.see(t, p); !ok || l.Liveness != session.Alive {
		t.Errorf("there %v, %+v", ok, l)
	}
}

// server returns the process of a tmux server.
func (b *bed) server(t *testing.T, socket string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(b.tmux(t, socket, "display-message", "-p", "#{pid}")))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// stuck returns a server that cannot exit after kill-server. That takes some attempts.
func (b *bed) stuck(t *testing.T) proc.Process {
	t.Helper()
	socket := b.socket(0)
	for range 100 {
		if exec.Command("tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "-s", "first", "sleep", "1000").Run() != nil {
			time.Sleep(50 * time.Millisecond) // the last one is exiting
			continue
		}
		pid := b.server(t, socket)
		start, _ := proc.StartTime(pid)
		server := proc.Process{PID: pid, Start: start}
		var clients sync.WaitGroup
		client := func(args ...string) {
			clients.Go(func() { _ = exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).Run() })
		}
		for i := range 12 {
			if i == 6 {
				client("kill-server")
			}
			client("new-session", "-d", "sleep", "1000")
		}
		clients.Wait()
		for end := time.Now().Add(2 * time.Second); server.Alive() && time.Now().Before(end); {
			time.Sleep(20 * time.Millisecond)
		}
		out, err := exec.Command("tmux", "-S", socket, "list-sessions").CombinedOutput()
		if server.Alive() && err != nil && strings.Contains(string(out), "exited") {
			return server
		}
		_ = exec.Command("tmux", "-S", socket, "kill-server").Run() // the one that came after it
	}
	t.Fatal("this fact has moved: every tmux server left that was told to; remind may not be needed any more")
	return proc.Process{}
}
