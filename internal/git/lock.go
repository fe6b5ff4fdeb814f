package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// lockFile lies in the repository's common folder. It is never deleted.
	lockFile = "agentform.lock"
	// lockRetry is how often a lock that somebody holds is tried again.
	lockRetry = 10 * time.Millisecond
	// patience is how long one other process may hold the lock without letting
	// go of it once. Our own worktrees wait for each other as long as it takes.
	patience = time.Minute
)

// hold makes the caller the only one, in this process and others, that changes
// the worktrees of the repository: git itself fails on its configuration file
// when two do. It waits for as long as ctx and patience allow, and then says who
// has it.
func hold(ctx context.Context, common string) (release func(), err error) {
	file := filepath.Join(common, lockFile)
	host, _ := os.Hostname()
	mine := fmt.Sprintf("pid %d on %s, ", os.Getpid(), host)
	l, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock repository: %w", err)
	}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	var holder string
	for since := time.Now(); ; {
		err := syscall.Flock(int(l.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, fmt.Errorf("lock repository %s: %w", common, err)
		}
		if b, err := os.ReadFile(file); err == nil && string(b) != holder {
			holder, since = string(b), time.Now() // it goes on
		}
		if time.Since(since) > patience && !strings.HasPrefix(holder, mine) {
			return nil, heldBy(common, holder)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", heldBy(common, holder), context.Cause(ctx))
		case <-time.After(lockRetry):
		}
	}
	// For people, and to tell one holding from the next: a failure costs only that.
	_ = os.WriteFile(file, []byte(mine+"since "+time.Now().Format(time.RFC3339Nano)+"\n"), 0o600)
	return func() {
		// Unlocked first, since a process that is being started may have it open still.
		// Closing gives it back where that fails; else our own would wait for ever.
		_ = syscall.Flock(int(l.Fd()), syscall.LOCK_UN)
		_ = l.Close()
	}, nil
}

func heldBy(common, holder string) error {
	if holder = strings.TrimSpace(holder); holder == "" {
		holder = "another process"
	}
	return fmt.Errorf("the worktrees of %s are being changed by another agentform (%s)", common, holder)
}
