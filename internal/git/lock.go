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

	"github.com/gofrs/flock"

	"github.com/agentform/agentform/internal/sleep"
)

const (
	// lockFile is in the repository's common directory. It is never deleted.
	lockFile = "agentform.lock"
	// lockRetry is the time between two attempts.
	lockRetry = 10 * time.Millisecond
	// lockTimeout bounds how long one other process may hold the lock at a time. Within a
	// process there is no limit.
	lockTimeout = time.Minute
)

// hold locks the worktrees of the repository against changes, in this process and others:
// two gits at a time fail on the configuration file. The error after a timeout names the
// holder.
func hold(ctx context.Context, common string) (release func(), err error) {
	file := filepath.Join(common, lockFile)
	host, _ := os.Hostname()
	mine := fmt.Sprintf("pid %d on %s, ", os.Getpid(), host)
	l := flock.New(file, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	var holder string
	for since := time.Now(); ; {
		held, err := l.TryLock()
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return nil, fmt.Errorf("lock repository %s: %w", common, err)
		}
		if held {
			break
		}
		if b, err := os.ReadFile(file); err == nil && string(b) != holder {
			holder, since = string(b), time.Now() // another holder
		}
		if time.Since(since) > lockTimeout && !strings.HasPrefix(holder, mine) {
			return nil, heldBy(common, holder)
		}
		if !sleep.For(ctx, lockRetry) {
			return nil, fmt.Errorf("%w: %w", heldBy(common, holder), context.Cause(ctx))
		}
	}
	// For people, and to notice another holder.
	_ = os.WriteFile(file, []byte(mine+"since "+time.Now().Format(time.RFC3339Nano)+"\n"), 0o600)
	return func() { _ = l.Close() }, nil
}

// holdRepository finds a repository and takes its lock.
func holdRepository(ctx context.Context, repo string) (dirs, func(), error) {
	d, err := repository(repo)
	if err != nil {
		return dirs{}, nil, err
	}
	release, err := hold(ctx, d.common)
	return d, release, err
}

func heldBy(common, holder string) error {
	if holder = strings.TrimSpace(holder); holder == "" {
		holder = "another process"
	}
	return fmt.Errorf("the worktrees of %s are being changed by another agentform (%s)", common, holder)
}
