//go:build real

package notify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/wait"
)

// The tests of this file leave processes behind, which an init process must reap.

func TestCommandThatHangs(t *testing.T) {
	n := &Notifier{config: Config{Dir: t.TempDir(), Environ: os.Environ()}}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := n.run(ctx, []string{"sh", "-c", "sleep 100 & sleep 100"}, Event{}, nil); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("one that hangs: %v", err)
	}
	n.workers.Wait()
}

// A command that starts a daemon does not leave it when the notifier ends.
func TestCommandLeavesADaemon(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := New(ctx, Config{Dir: dir, Environ: os.Environ(), Targets: []Target{{Name: "a", On: []string{"done"},
		Command: []string{"sh", "-c", "sleep 1000 >/dev/null 2>&1 </dev/null & echo $! > pid.new; mv pid.new pid"}}}})
	n.Send(Event{Event: "done"})
	var pid int
	wait.For(t, "the daemon runs", func() (any, bool) {
		b, err := os.ReadFile(filepath.Join(dir, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return err, pid != 0
	})
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("it has %s to do what it was started for: %v", commandTimeout, err)
	}
	time.AfterFunc(50*time.Millisecond, cancel)
	n.Close()
	wait.For(t, "the daemon has ended", func() (any, bool) {
		err := syscall.Kill(pid, 0)
		return err, errors.Is(err, syscall.ESRCH)
	})
}
