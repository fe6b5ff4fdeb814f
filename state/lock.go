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

// lockRetry is how often a lock that somebody holds is tried again.
const lockRetry = 25 * time.Millisecond

// Holder is who holds the state's lock. It stands in the lock file for people:
// the lock itself is the operating system's.
type Holder struct {
	PID     int       `json:"pid"`
	User    string    `json:"user"`
	Host    string    `json:"host"`
	Command string    `json:"command"` // agentform apply
	Since   time.Time `json:"since"`
}

// LockedError says that somebody else is changing the state.
type LockedError struct {
	Path   string // of the state file
	Holder Holder // zero if the holder has not told
}

// Error names the holder and what to do.
func (e *LockedError) Error() string {
	who := "another process"
	if h := e.Holder; h.PID != 0 {
		who = fmt.Sprintf("%s (pid %d on %s, %q) since %s", h.User, h.PID, h.Host, h.Command, h.Since.Local().Format("2006-01-02 15:04:05"))
	}
	return fmt.Sprintf("state %s is locked by %s; wait until that ends, or wait longer with --lock-timeout", e.Path, who)
}

// lock takes the lock of the state file, trying for as long as wait and ctx
// allow, and at least once.
func lock(ctx context.Context, path string, who Holder, wait time.Duration) (*flock.Flock, error) {
	file := path + ".lock"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("lock state %s: %w", path, err)
	}
	l := flock.New(file, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	for deadline := time.Now().Add(wait); ; {
		taken, err := l.TryLock()
		if errors.Is(err, syscall.EROFS) { // a session can be ended all the same
			l = flock.New(file, flock.SetFlag(os.O_RDONLY))
			taken, err = l.TryLock()
		}
		if err != nil {
			return nil, fmt.Errorf("lock state %s: %w", path, err)
		}
		if taken {
			break
		}
		left := time.Until(deadline)
		if left <= 0 {
			return nil, &LockedError{Path: path, Holder: readHolder(file)}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", &LockedError{Path: path, Holder: readHolder(file)}, context.Cause(ctx))
		case <-time.After(min(left, lockRetry)):
		}
	}
	writeHolder(file, who)
	return l, nil
}

// Locked reports whether somebody is changing the state file at path now.
func Locked(path string) bool {
	_, locked := HeldBy(path)
	return locked
}

// HeldBy returns who is changing the state file at path now, and whether anybody is.
// The holder is zero if it has not written its name.
func HeldBy(path string) (Holder, bool) {
	file := path + ".lock"
	l := flock.New(file, flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK))
	free, err := l.TryRLock() // a shared lock that can be had: nobody has the other
	_ = l.Close()             // never cleared: the name in it is nobody's of now
	if err != nil || free {
		return Holder{}, false
	}
	return readHolder(file), true
}

// unlock clears the holder, so that the next one is never taken for this one,
// and gives the lock back.
func unlock(l *flock.Flock) error {
	_ = os.Truncate(l.Path(), 0) // for people only
	return l.Unlock()
}

// writeHolder names the holder. It has no error: a full disk must not keep
// anybody from a lock that is held already.
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

// readHolder reads who holds the lock. Between taking the lock and writing the
// name there is a moment: it tries twice.
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
