package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Update appends the events that compute returns for the past ones, and returns them. Only one
// call computes at a time, so that what it derives from the past is recorded once.
func Update(dir string, compute func(past []Event) []Event) (added []Event, err error) {
	path := filepath.Join(dir, fileName)
	f, err := openLocked(path, os.O_APPEND|os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("record events: %w", err)
	}
	past, err := Read(dir, time.Time{})
	if err == nil {
		for _, e := range compute(past) {
			if err = put(f, e); err != nil {
				break
			}
			added = append(added, e)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return added, fmt.Errorf("record events: %w", err)
	}
	if len(added) > 0 {
		bound(path)
	}
	return added, nil
}

// lockTimeout bounds the wait for a lock, which is held for a few reads and writes and never
// while the disk syncs. Without it nothing is written: an event could go into a file that is
// being replaced.
const lockTimeout = 10 * time.Second

// openLocked opens a file and locks it until it is closed. It opens the new file if the file
// is replaced meanwhile. To create a file it creates the directory.
func openLocked(path string, flags int) (*os.File, error) {
	if flags&os.O_CREATE != 0 {
		if err := makeDir(filepath.Dir(path)); err != nil {
			return nil, err
		}
	}
	for {
		f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		ours, err := f.Stat()
		if err == nil && !ours.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file", path)
		}
		if err == nil {
			err = lock(f)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if now, err := os.Stat(path); err == nil && os.SameFile(ours, now) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

func lock(f *os.File) error {
	for end := time.Now().Add(lockTimeout); ; time.Sleep(time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		case time.Now().After(end):
			return fmt.Errorf("another process has locked %s for %v; one that is stopped (Ctrl-Z) must be resumed or killed", f.Name(), lockTimeout)
		}
	}
}
