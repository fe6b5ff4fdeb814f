package tmux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/shim"
)

// recallTimeout is how long a tmux server may take to create its socket again. It takes
// milliseconds.
const recallTimeout = 2 * time.Second

// recall makes the tmux server of a run create its socket again if that was removed, as by
// a job that cleans up. Else nobody could remove the run's session once its agent has
// ended, nor see the other sessions of the server. A server is known by its child, the
// run's guest, and by its command line. That it fails keeps nobody from ending the agent.
func (r *Runtime) recall(ctx context.Context, s *server, run string) {
	if s.borrowed || !runForm.MatchString(run) {
		return
	}
	if _, err := os.Lstat(s.socket); !errors.Is(err, os.ErrNotExist) {
		return
	}
	f, _ := r.facts(run) // what cannot be read is missing
	pid := f.Guest.Parent()
	if f.Adopted() || pid <= 1 || !slices.Contains(shim.Seen(pid).Argv, s.socket) {
		return
	}
	if os.MkdirAll(filepath.Dir(s.socket), 0o700) != nil || syscall.Kill(pid, syscall.SIGUSR1) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recallTimeout)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		if up, err := s.running(ctx); up || err != nil || sleep(ctx, wait) != nil {
			return
		}
	}
}
