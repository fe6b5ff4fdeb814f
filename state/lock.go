package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

const lockRetry = 25 * time.Millisecond

// Holder is who holds the state's lock, which itself is the operating system's.
type Holder struct {
	PID     int       `json:"pid"`
	User    string    `json:"user"`
	Host    string    `json:"host"`
	Command string    `json:"command"` // agentform apply
	Since   time.Time `json:"since"`
}

// LockedError reports that another process is changing the state.
type LockedError struct {
	Path   string // of the state file
	Holder Holder // zero if unknown
}

// Error names the holder and how to continue.
func (e *LockedError) Error() string {
	who := "another process"
	if h := e.Holder; h.PID != 0 {
		who = fmt.Sprintf("%s (pid %d on %s, %q) since %s", h.User, h.PID, h.Host, h.Command, h.Since.Local().Format("2006-01-02 15:04:05"))
	}
	return fmt.Sprintf("state %s is locked by %s; wait for it, or raise --lock-timeout", e.Path, who)
}

// lock tries at least once, until wait or ctx ends.
func lock(ctx context.Context, path string, who Holder, wait time.Duration) (*flock.Flock, error) {
	file := path + ".lock"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("lock state %s: %w", path, err)
	}
	l := flock.New(file, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	taken, err := l.TryLock()
	if errors.Is(err, syscall.EROFS) { // sessions can end on a read-only disk
		l = flock.New(file, flock.SetFlag(os.O_RDONLY))
		taken, err = l.TryLock()
	}
	if err == nil && !taken {
		within, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		taken, err = l.TryLockContext(within, lockRetry)
	}
	switch {
	case taken:
		writeHolder(file, who)
		return l, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w", &LockedError{Path: path, Holder: readHolder(file)}, context.Cause(ctx))
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &LockedError{Path: path, Holder: readHolder(file)}
	}
	return nil, fmt.Errorf("lock state %s: %w", path, err)
}

// HeldBy returns the holder of a state's lock, zero if unknown, and whether it is held.
func HeldBy(path string) (Holder, bool) {
	file := path + ".lock"
	l := flock.New(file, flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK))
	free, err := l.TryRLock() // succeeds unless the exclusive lock is held
	_ = l.Close()             // without clearing the holder
	if err != nil || free {
		return Holder{}, false
	}
	return readHolder(file), true
}

func unlock(l *flock.Flock) error {
	_ = os.Truncate(l.Path(), 0) // for people only
	return l.Unlock()
}

// writeHolder ignores errors: a full disk does not prevent locking.
func writeHolder(file string, who Holder) {
	if who.Since.IsZero() {
		who.Since = time.Now()
	}
	who.Since = who.Since.Truncate(time.Second)
	b, err := json.Marshal(who)
	if err != nil {
		return
	}
	if f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC|syscall.O_NONBLOCK, 0); err == nil {
		_, _ = f.Write(append(b, '\n'))
		_ = f.Close()
	}
}

// readHolder tries twice, as the holder writes after locking.
func readHolder(file string) (h Holder) {
	for range 2 {
		b, err := readRegular(file)
		if err == nil && json.Unmarshal(b, &h) == nil {
			return h
		}
		time.Sleep(2 * time.Millisecond)
	}
	return Holder{}
}
