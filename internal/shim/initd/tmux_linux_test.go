//go:build real

package initd

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/test/wait"
)

const (
	testTarget = "%0"
	testFormat = "#{pane_dead}|#{session_name}"
	testRow    = "0|x"
)

var testSession = []string{"new-session", "-d", "-s", "x", "--", "sleep", "60"}

// newTerminal returns the terminal of an init that is not PID 1.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	k := &container{own: map[int]bool{}}
	k.terminal.init, k.terminal.folder = k, short(t)
	t.Cleanup(func() {
		k.terminal.unwatch()
		if k.terminal.server != nil {
			_ = k.terminal.server.Process.Kill()
			<-k.terminal.left
		}
	})
	return &k.terminal
}

func (t *terminal) mustBegin(tb testing.TB) {
	tb.Helper()
	if r, err := t.begin(testSession); err != nil || r.Code != 0 {
		tb.Fatalf("begin: %+v, %v", r, err)
	}
}

// tmux 3.3a crashes when a session is created while a watcher starts.
func TestSessionIsMadeWhileOthersLook(t *testing.T) {
	term := newTerminal(t)
	done := make(chan struct{})
	var lookers sync.WaitGroup
	for range 2 {
		lookers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					term.look(testTarget, testFormat, false)
				}
			}
		})
	}
	defer lookers.Wait()
	defer close(done)
	for range 40 {
		term.mustBegin(t)
	}
}

// A watcher without an answer is not killed, and no second one is started: tmux 3.3a crashes when a
// client exits before it is fully identified.
func TestWatcherWithoutAnswerIsLetLeave(t *testing.T) {
	term := newTerminal(t)
	term.mustBegin(t)
	server := term.server.Process
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer server.Signal(syscall.SIGCONT)
	for range 2 {
		if row, _, watching := term.look(testTarget, testFormat, false); row != "" || watching {
			t.Fatalf("a server that stands still tells %q, watched %v", row, watching)
		}
		if n := clients(term); n != 1 {
			t.Fatalf("%d clients watch, want 1", n)
		}
	}
	first := term.watcher.cmd.Process.Pid
	if s, ok := proc.ReadStat(first); !ok || !s.Alive() {
		t.Errorf("the first client was ended: %+v", s)
	}
	if err := server.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the server is looked at again", func() (any, bool) {
		row, _, watching := term.look(testTarget, testFormat, false)
		return []any{row, watching}, row == testRow && watching
	})
	if term.watcher.cmd.Process.Pid == first {
		t.Error("the client that did not answer in time watches on")
	}
}

// clients counts the running clients in control mode of a terminal's server.
func clients(t *terminal) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if s, ok := proc.ReadStat(pid); err == nil && ok && s.Alive() && strings.Contains(string(line), t.socket()+"\x00-C") {
			n++
		}
	}
	return n
}
